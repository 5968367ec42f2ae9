"""Observe a claim: what it asks for, the pods that it names, and the pods that carry its label.

The index is written before a pod is read, so that no change of the pod is missed. Pods are read by name. They are
listed only where Redis does not know which pods the claim has tried.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from pydantic import ValidationError

from domain.claims.additions import Metadata
from domain.claims.address import gives_way
from domain.claims.claim import Claim, ClaimPhase
from domain.claims.decision import ClaimView
from domain.claims.fitting import unfit
from domain.claims.labels import moment
from domain.claims.lifetime import LONGEST_RENEWAL, Lifetime, Renewal
from domain.claims.pod import PoolPod
from domain.claims.pod_claim import PodClaimSpec
from domain.claims.status import bound_time_of
from domain.kubernetes.names import BOUND_AT, CLAIM_SET, CLAIMED_BY, OWNER, RENEWAL, TARGET_TAKEN
from domain.kubernetes.objects import KubeObject, Pod
from workers.claims.services import ClaimServices
from workers.kube.claim_pods import ClaimPods, added_annotations, added_labels, of_its_pool, pod_address, pool_pod
from workers.run import Run
from workers.stores.slots.claimable import PoolFacts, pool_facts

SERVED: Final = frozenset({ClaimPhase.BOUND, ClaimPhase.OUTDATED, ClaimPhase.LOST})
Revision = Callable[[str | None], str | None]


@dataclass(frozen=True)
class ClaimRequest:
    """What a claim asks for, and what its status shows.

    Attributes:
        claim_set: the UID of its set, None if it has none.
        shown: its last status.
        bound_time: since when it has its pod, as its status gives it.

    """

    spec: PodClaimSpec
    claim: Claim
    claim_set: str | None
    lifetime: Lifetime
    shown: Mapping[str, Any]
    bound_time: str | None

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
        view: the part of the observation that decides.
        objects: the pods by name, as they were read.
        unlabelled: pods that an earlier run of the claim took in Redis and never labelled. They are free.
        waits: whether the claim stands among those that wait for a pod.

    """

    request: ClaimRequest
    view: ClaimView
    objects: dict[str, Pod]
    unlabelled: tuple[PoolPod, ...] = ()
    waits: bool = False

    @property
    def claim(self) -> Claim:
        """The claim as the domain reads it."""
        return self.request.claim


def request_of(claim: KubeObject) -> ClaimRequest:
    """Read what a claim asks for.

    Raises pydantic's ValidationError, but not for a claim that is being deleted: its request does not matter any more.
    """
    try:
        spec = PodClaimSpec.model_validate(claim.spec)
    except ValidationError:
        if not claim.deleting:
            raise
        spec = PodClaimSpec.model_construct(pod_name=claim.spec.get("podName"))
    source = spec.source_pod.pod_name if spec.source_pod else None
    read = Claim(
        uid=claim.uid,
        request=spec.request,
        owner=spec.owner_name or None,
        pod=spec.pod_name,
        source=source,
        marked=source is not None and claim.annotations.get(TARGET_TAKEN) == f"{source} {spec.pod_name}",
        deleting=claim.deleting,
        served=claim.status.get("phase") in SERVED,
        waits_for_ports=spec.wait_for_ports,
        when_lost=spec.when_lost,
    )
    bound_time = bound_time_of(claim.annotations.get(BOUND_AT))
    set_uid = claim.labels.get(CLAIM_SET) or None
    return ClaimRequest(spec, read, set_uid, _lifetime(spec, claim), claim.status, bound_time)


def lifetime_of(claim: KubeObject) -> Lifetime:
    """Read how long a claim with an invalid spec lives: by its ttl, if that field is valid."""
    try:
        spec = PodClaimSpec.model_validate({"poolName": "any", "ttl": claim.spec.get("ttl")})
    except ValidationError:
        spec = PodClaimSpec(pool_name="any")
    return _lifetime(spec, claim)


def _lifetime(spec: PodClaimSpec, claim: KubeObject) -> Lifetime:
    time, text = moment(claim.status.get("renewedTime") or ""), claim.annotations.get(RENEWAL)
    recorded = Renewal(claim.status.get("observedRenewal"), time) if time else None
    return Lifetime(claim.created, spec.lives, None if text is None else text[:LONGEST_RENEWAL], recorded)


def is_valid(claim: KubeObject) -> bool:
    """Tell whether the claim's spec is valid."""
    try:
        PodClaimSpec.model_validate(claim.spec)
    except ValidationError:
        return False
    return True


def differs(request: ClaimRequest, pod: Pod, added: Metadata) -> bool:
    """Tell whether the claim's pod lacks a label or annotation of its claim, or has one that it must lose."""
    required = request.labels | dict(added.labels) | of_its_pool(pod)
    if not (required.items() <= pod.labels.items() and added.annotations.items() <= pod.annotations.items()):
        return True
    return added_labels(pod).keys() != added.labels.keys() or added_annotations(pod) != added.annotations.keys()


def lacks_ports(request: ClaimRequest, target: Pod) -> str | None:
    """Say why a claim does not move to the pod yet: the claim's pod has its ports, and the target has not."""
    return pod_address(target).missing if request.spec.wait_for_ports else None


def outdated(request: ClaimRequest, pods: Iterable[PoolPod], revision: Revision) -> frozenset[str]:
    """Return the names of the pods that the claim gives up. `revision`: that of a pool's present template."""
    wait = request.spec.wait_for_ports
    return frozenset(
        pod.name
        for pod in pods
        if pod.lacks_ports and gives_way(pod, revision(pod.pool), request.shown, request.bound_time, wait=wait)
    )


class ClaimObserver:
    """Observes one claim."""

    def __init__(self, services: ClaimServices, run: Run, namespace: str, name: str) -> None:
        self._services, self._run, self._namespace, self._name = services, run, namespace, name
        self._pods = ClaimPods(services.kube, namespace)
        self._facts = dict[str, PoolFacts]()

    def observe(self, request: ClaimRequest, refused: Collection[str]) -> ClaimObservation:
        """Read the claim's pods. `refused` names pods that the claim cannot move to, whatever they look like."""
        claim, now = request.claim, self._services.now()
        self._facts.clear()
        named = claim.names
        remembered = self._services.index.remember(self._namespace, self._name, claim.uid, named, self._run.token)
        objects = self._objects(claim.uid, named, remembered.tried)
        pods = {name: pool_pod(pod, now) for name, pod in objects.items()}
        labelled = tuple(pod for pod in pods.values() if pod.claimed_by == claim.uid)
        view = ClaimView(
            labelled=labelled,
            named={
                name: self._as_target(request, pods[name], objects[name], refused) for name in named if name in pods
            },
            missing=self._missing_for(claim, pods, remembered.missing),
            grace=self._services.missing_grace,
            renewed=request.lifetime.renewed(now),
            expired=request.lifetime.expired(now),
            outdated=outdated(request, labelled, self.revision),
        )
        return ClaimObservation(request, view, objects, self._unlabelled(claim, pods, named), remembered.waiting)

    def with_bound(self, request: ClaimRequest, pod: Pod, before: ClaimObservation) -> ClaimObservation:
        """Return what a claim observes that has just bound `pod`, its only one, and named it.

        Nothing is read: the answers to the two writes are the newest versions, and since before the pod was written its
        changes wake the claim (`ClaimIndex.tries`).
        """
        bound = pool_pod(pod, self._services.now())
        view = ClaimView(
            labelled=(bound,), named={pod.name: bound}, missing=timedelta(0), grace=self._services.missing_grace
        )
        return ClaimObservation(request, view, {pod.name: pod}, waits=before.waits)

    def unfit(self, claim: Claim, pod: PoolPod) -> str | None:
        """Say why the claim cannot have the pod; None if it can."""
        return unfit(claim.request, pod, self.revision(pod.pool))

    def revision(self, pool: str | None) -> str | None:
        """Return the revision of the pool's present template, None if it is unknown."""
        return self._facts_of(pool).revision

    def protects(self, pool: str | None) -> bool:
        """Tell whether the pool protects the pods of claims."""
        return self._facts_of(pool).protects

    def _facts_of(self, pool: str | None) -> PoolFacts:
        """Read what claims need of the pool, once an observation."""
        if pool is None:
            return PoolFacts(None)
        if pool not in self._facts:
            self._facts[pool] = pool_facts(self._services.ledger(f"{self._namespace}/{pool}"))
        return self._facts[pool]

    def _objects(self, uid: str, named: Collection[str], tried: frozenset[str] | None) -> dict[str, Pod]:
        """Read the pods that the claim names, and those that may carry its label."""
        objects = dict[str, Pod]()
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

    def _as_target(self, request: ClaimRequest, pod: PoolPod, read: Pod, refused: Collection[str]) -> PoolPod:
        """Return the pod, as not normal if it is free and the claim cannot have it: so no move takes it."""
        why = (self.unfit(request.claim, pod) or lacks_ports(request, read)) if pod.free else None
        return replace(pod, normal=False) if why or pod.name in refused else pod

    def _missing_for(self, claim: Claim, pods: dict[str, PoolPod], was_missing: bool) -> timedelta:
        """Return for how long the claim's pod has been missing, 0 if it is there or the claim names none."""
        index = self._services.index
        if not claim.pod or claim.pod in pods:
            if was_missing:
                index.forget_missing(self._namespace, claim.uid)
            return timedelta(0)
        now = self._services.now()
        return now - index.missing_since(self._namespace, claim.uid, claim.pod, now)

    def _unlabelled(self, claim: Claim, pods: dict[str, PoolPod], named: Collection[str]) -> tuple[PoolPod, ...]:
        """Return the tried pods that are free.

        A tried pod that is not free has a new version, so a late write of its label conflicts. Such a pod is forgotten.
        """
        tried = [pod for pod in pods.values() if pod.name not in named and pod.claimed_by != claim.uid]
        for pod in tried:
            if not pod.free:
                self._services.index.has_left(self._namespace, claim.uid, pod.name)
        return tuple(pod for pod in tried if pod.free)
