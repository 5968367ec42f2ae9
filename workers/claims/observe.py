"""Observe a claim: what it asks for, the pods that it names, and the pods that carry its label.

The index is written before a pod is read, so that no change of the pod is missed. Pods are read by name. They are
listed only where Redis does not know which pods the claim has tried.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import timedelta

from pydantic import ValidationError

from domain.claims.claim import Claim
from domain.claims.decision import ClaimView
from domain.claims.fitting import unfit
from domain.claims.pod import ClaimablePod
from domain.claims.pod_claim import PodClaimSpec
from domain.kubernetes.names import BOUND_AT, CLAIM_SET, CLAIMED_BY, OWNER, TARGET_TAKEN
from domain.kubernetes.objects import KubeObject, Pod
from workers.claims.services import ClaimServices
from workers.kube.claimable_pods import ClaimPods, added_labels, additions_to, claimable, of_its_pool
from workers.stores.slots.claimable import present_revision


@dataclass(frozen=True)
class ClaimRequest:
    """What a claim asks for. `claim_set` is the UID of its set, '' if it has none."""

    spec: PodClaimSpec
    claim: Claim
    claim_set: str

    @property
    def labels(self) -> dict[str, str]:
        """Labels that say on the pod whose it is."""
        labels = {CLAIMED_BY: self.claim.uid, OWNER: self.claim.owner, CLAIM_SET: self.claim_set}
        return {key: value for key, value in labels.items() if value}


@dataclass(frozen=True)
class ClaimObservation:
    """What a run read before it decides.

    Attributes:
        request: what the claim asks for.
        view: the part that decides.
        objects: the pods by name, as they were read.
        unlabelled: pods that an earlier run of the claim took in Redis and never labelled. They are free.

    """

    request: ClaimRequest
    view: ClaimView
    objects: dict[str, Pod]
    unlabelled: tuple[ClaimablePod, ...] = ()

    @property
    def claim(self) -> Claim:
        """The claim as the domain reads it."""
        return self.request.claim


def request_of(claim: KubeObject) -> ClaimRequest:
    """Read what a claim asks for.

    Raises pydantic's ValidationError, but not for a claim that is being deleted: what it asked for does not matter.
    """
    try:
        spec = PodClaimSpec.model_validate(claim.spec)
    except ValidationError:
        if not claim.deleting:
            raise
        spec = PodClaimSpec.model_construct(pod_name=claim.spec.get("podName"))
    source = spec.source_pod.pod_name if spec.source_pod else ""
    pod = spec.pod_name or ""
    request = Claim(
        uid=claim.uid,
        pool=spec.pool_name,
        owner=spec.owner_name,
        selector=spec.selector,
        pod=pod,
        source=source,
        marked=bool(source) and claim.annotations.get(TARGET_TAKEN) == f"{source} {pod}",
        deleting=claim.deleting,
        served=BOUND_AT in claim.annotations,
        when_lost=spec.when_lost,
    )
    return ClaimRequest(spec, request, claim.labels.get(CLAIM_SET, ""))


def missing_labels(request: ClaimRequest, pod: Pod) -> bool:
    """Whether the claim's pod does not have exactly the labels that the claim asks for now."""
    added = additions_to(pod, request.spec.additional_pod_labels).labels
    required = request.labels | dict(added) | of_its_pool(pod)
    return not required.items() <= pod.labels.items() or added_labels(pod).keys() != added.keys()


class ClaimObserver:
    """Observes one claim."""

    def __init__(self, services: ClaimServices, namespace: str, name: str) -> None:
        self._services, self._namespace, self._name = services, namespace, name
        self._pods = ClaimPods(services.kube, namespace)

    def observe(self, request: ClaimRequest, refused: Collection[str]) -> ClaimObservation:
        """Read the claim's pods. `refused` names pods that the claim cannot move to, whatever they look like."""
        claim, now = request.claim, self._services.now()
        named = {name for name in (claim.pod, claim.source) if name}
        self._services.index.remember(self._namespace, self._name, claim.uid, named)
        objects = self._objects(claim.uid, named)
        pods = {name: claimable(pod, now) for name, pod in objects.items()}
        view = ClaimView(
            labelled=tuple(pod for pod in pods.values() if pod.claimed_by == claim.uid),
            named={name: self._as_target(claim, pods[name], refused) for name in named if name in pods},
            missing=self._missing_for(claim, pods),
            grace=self._services.missing_grace,
        )
        return ClaimObservation(request, view, objects, self._unlabelled(claim, pods, named))

    def unfit(self, claim: Claim, pod: ClaimablePod) -> str | None:
        """Say why the claim cannot have the pod; None if it can."""
        return unfit(claim, pod, self.revision(pod.pool))

    def revision(self, pool: str) -> str:
        """Return the revision of the pool's present template, '' if it is unknown."""
        return present_revision(self._services.ledger(f"{self._namespace}/{pool}")) if pool else ""

    def _objects(self, uid: str, named: Collection[str]) -> dict[str, Pod]:
        """Read the pods that the claim names, and those that may carry its label."""
        tried, objects = self._services.index.tried(self._namespace, uid), dict[str, Pod]()
        if tried is None:
            objects = {pod.name: pod for pod in self._pods.labelled(uid)}
            tried = frozenset(objects)
            self._services.index.may_have_tried(self._namespace, uid, tried)
        for name in sorted({*named, *tried} - objects.keys()):
            if pod := self._pods.read(name):
                objects[name] = pod
            elif name in tried:
                self._services.index.has_left(self._namespace, uid, name)
        return objects

    def _as_target(self, claim: Claim, pod: ClaimablePod, refused: Collection[str]) -> ClaimablePod:
        """Mark a free pod that the claim cannot have as no target of a move."""
        barred = pod.name in refused or (pod.free and bool(self.unfit(claim, pod)))
        return replace(pod, normal=False) if barred else pod

    def _missing_for(self, claim: Claim, pods: dict[str, ClaimablePod]) -> timedelta:
        """For how long the claim's pod has been missing."""
        index = self._services.index
        if not claim.pod or claim.pod in pods:
            index.forget_missing(self._namespace, claim.uid)
            return timedelta(0)
        now = self._services.now()
        return now - index.missing_since(self._namespace, claim.uid, claim.pod, now)

    def _unlabelled(
        self, claim: Claim, pods: dict[str, ClaimablePod], named: Collection[str]
    ) -> tuple[ClaimablePod, ...]:
        """Return the tried pods that are free.

        A tried pod that is not free has a new version, so a late write of its label conflicts. Such a pod is forgotten.
        """
        tried = [pod for pod in pods.values() if pod.name not in named and pod.claimed_by != claim.uid]
        for pod in tried:
            if not pod.free:
                self._services.index.has_left(self._namespace, claim.uid, pod.name)
        return tuple(pod for pod in tried if pod.free)
