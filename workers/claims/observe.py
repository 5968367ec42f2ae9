"""What a run of a claim sees: the claim, the pods that it names, and those that carry its label.

The index is written before a pod is read, so that no change of a pod falls between. Pods are read by name; they are
listed only where Redis cannot say which ones the claim has tried.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import timedelta

from pydantic import ValidationError

from domain.claims.claim import Claim
from domain.claims.decision import View
from domain.claims.fitting import unfit
from domain.claims.pod import ClaimablePod
from domain.claims.pod_claim import PodClaimSpec
from domain.kubernetes.names import BOUND_AT, CLAIM_SET, CLAIMED_BY, OWNER, TARGET_TAKEN
from domain.kubernetes.objects import KubeObject, Pod
from workers.claims.services import ClaimServices
from workers.kube.claimable_pods import ClaimPods, added_labels, additions_to, claimable, of_its_pool
from workers.stores.slots.claimable import present_revision


@dataclass(frozen=True)
class Wish:
    """What a claim asks for, and what is written of it on its pod. `added`: labels that its pod gets."""

    spec: PodClaimSpec
    claim: Claim
    claim_set: str

    @property
    def labels(self) -> dict[str, str]:
        labels = {CLAIMED_BY: self.claim.uid, OWNER: self.claim.owner, CLAIM_SET: self.claim_set}
        return {key: value for key, value in labels.items() if value}


@dataclass(frozen=True)
class Sight:
    """`objects`: the pods by name, as they were read. `free`: pods that it has taken in Redis, and never wrote."""

    view: View
    objects: dict[str, Pod]
    free: tuple[ClaimablePod, ...] = ()


def wish_of(claim: KubeObject) -> Wish:
    """Raises pydantic's ValidationError; for a claim that is being deleted what it asked for does not matter."""
    try:
        spec = PodClaimSpec.model_validate(claim.spec)
    except ValidationError:
        if not claim.deleting:
            raise
        spec = PodClaimSpec.model_construct(pod_name=claim.spec.get("podName"))
    source = spec.source_pod.pod_name if spec.source_pod else ""
    pod = spec.pod_name or ""
    seen = Claim(
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
    return Wish(spec, seen, claim.labels.get(CLAIM_SET, ""))


class Looking:
    """Of one claim; `refused`: pods that cannot be had, whatever they look like."""

    def __init__(self, services: ClaimServices, namespace: str, name: str) -> None:
        self._services, self._namespace, self._name = services, namespace, name
        self._pods = ClaimPods(services.kube, namespace)

    def look(self, claim: Claim, refused: Collection[str]) -> Sight:
        index, now = self._services.index, self._services.now()
        named = {name for name in (claim.pod, claim.source) if name}
        index.remember(self._namespace, self._name, claim.uid, named)
        objects = self._objects(claim.uid, named)
        pods = {name: claimable(pod, now) for name, pod in objects.items()}
        labelled = tuple(pod for pod in pods.values() if pod.claimed_by == claim.uid)
        seen = View(
            labelled,
            {name: self._judged(claim, pods[name], refused) for name in named if name in pods},
            self._missing(claim, pods),
            self._services.missing_grace,
        )
        return Sight(seen, objects, self._taken(claim, pods, named))

    def _objects(self, uid: str, named: Collection[str]) -> dict[str, Pod]:
        """Those that it names, and those that may carry its label."""
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

    def _judged(self, claim: Claim, pod: ClaimablePod, refused: Collection[str]) -> ClaimablePod:
        """A free pod that will not do is none to move to."""
        barred = pod.name in refused or (pod.free and bool(self.unfit(claim, pod)))
        return replace(pod, normal=False) if barred else pod

    def unfit(self, claim: Claim, pod: ClaimablePod) -> str | None:
        """As domain.claims.fitting.unfit."""
        return unfit(claim, pod, self.revision(pod.pool))

    @staticmethod
    def undressed(wish: Wish, pod: Pod) -> bool:
        """Whether its own pod does not have the labels that the claim wants now."""
        added = additions_to(pod, wish.spec.additional_pod_labels).labels
        wanted = wish.labels | dict(added) | of_its_pool(pod)
        return not wanted.items() <= pod.labels.items() or added_labels(pod).keys() != added.keys()

    def revision(self, pool: str) -> str:
        """Of the present template of that pool, '' if unknown."""
        return present_revision(self._services.ledger(f"{self._namespace}/{pool}")) if pool else ""

    def _missing(self, claim: Claim, pods: dict[str, ClaimablePod]) -> timedelta:
        index = self._services.index
        if not claim.pod or claim.pod in pods:
            index.forget_missing(self._namespace, claim.uid)
            return timedelta(0)
        now = self._services.now()
        return now - index.missing_since(self._namespace, claim.uid, claim.pod, now)

    def _taken(self, claim: Claim, pods: dict[str, ClaimablePod], named: Collection[str]) -> tuple[ClaimablePod, ...]:
        """A pod that is not free has another version than whoever wanted to take it has seen."""
        tried = [pod for pod in pods.values() if pod.name not in named and pod.claimed_by != claim.uid]
        for pod in tried:
            if not pod.free:
                self._services.index.has_left(self._namespace, claim.uid, pod.name)
        return tuple(pod for pod in tried if pod.free)
