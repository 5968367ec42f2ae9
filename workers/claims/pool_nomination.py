"""Nominate the pool that creates a pod for a waiting claim."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from berthmaster.jobs.unreadable import UnreadableLedger
from berthmaster.routing import pod_pool_key
from domain.claims.pod_request import PodRequest, PodTraits
from domain.claims.status import Reason
from domain.kubernetes.objects import KubeObject
from domain.pod_pools.pod_pool import PodPoolSpec
from workers.claims.services import ClaimServices
from workers.kube.pod_pools import PodPools
from workers.stores.claims.room import population
from workers.stores.claims.waiting import WaitingClaim


@dataclass(frozen=True)
class Nomination:
    """The pool that grows for a claim, None if there is none, and why the claim waits."""

    pool: str | None
    reason: Reason


class PoolNominator:
    """Nominates one of these pools of a namespace."""

    def __init__(self, services: ClaimServices, namespace: str, pools: list[str]) -> None:
        self._services, self._namespace, self._pools = services, namespace, pools

    def nominate(self, request: PodRequest) -> Nomination:
        """Choose a pool whose pods fit the request; a pool with room comes first."""
        specs = {pool: spec for pool in self._pools if (spec := self._spec(pool))}
        fitting = sorted(pool for pool, spec in specs.items() if request.fits(_traits(pool, spec)))
        with_room = [pool for pool in fitting if self._has_room(pool, specs[pool])]
        if with_room:
            return Nomination(with_room[0], Reason("WaitingForPod", f"pool {with_room[0]} has no free pod yet"))
        if fitting:
            message = f"no pod is free, and pool {fitting[0]} is at its maximum"
            return Nomination(fitting[0], Reason("PoolFull", message))
        return Nomination(None, Reason("NoPool", _no_pool(request, exists=bool(specs))))

    def enqueue(self, waiting: WaitingClaim) -> None:
        """Record that a claim waits. A new entry wakes the pool that the claim is nominated to."""
        if self._services.waiting.put(self._namespace, waiting) and waiting.pool:
            self._services.queue.touch([pod_pool_key(self._namespace, waiting.pool)])

    def _spec(self, pool: str) -> PodPoolSpec | None:
        """Read the spec of a pool. None: there is no such pool, it is being deleted, or its spec is invalid."""
        snapshot = self._services.queue.snapshot(pod_pool_key(self._namespace, pool))
        snapshot = snapshot or PodPools(self._services.kube).read(self._namespace, pool)
        if snapshot is None or snapshot.gone or snapshot.body["deleting"]:
            return None
        try:
            return PodPoolSpec.model_validate(snapshot.body["spec"])
        except ValidationError:
            return None

    def _has_room(self, pool: str, spec: PodPoolSpec) -> bool:
        try:
            return population(self._services.ledger(f"{self._namespace}/{pool}")) < spec.max_replicas
        except UnreadableLedger:
            return False


def _traits(pool: str, spec: PodPoolSpec) -> PodTraits:
    """Return the traits of the pods that the pool creates."""
    return PodTraits.of(pool, KubeObject(spec.template))


def _no_pool(request: PodRequest, *, exists: bool) -> str:
    if request.pool is None:
        return f"no pool of the namespace makes pods with {request.in_words()}"
    if exists:
        return f"pool {request.pool} makes no pods with {request.in_words()}"
    return f"there is no pool {request.pool} in the namespace"
