"""Nominate a pool that grows for a claim without a pod."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from berthmaster.jobs.unreadable import UnreadableLedger
from berthmaster.routing import pod_pool_key
from domain.claims.claim import Claim
from domain.claims.status import Reason
from domain.kubernetes.objects import KubeObject
from domain.pod_pools.pod_pool import PodPoolSpec
from workers.claims.services import ClaimServices
from workers.kube.pod_pools import PodPools
from workers.stores.claims.room import population
from workers.stores.claims.waiting import WaitingClaim


@dataclass(frozen=True)
class Nomination:
    """The pool that grows for a claim, '' if there is none, and why the claim waits."""

    pool: str
    reason: Reason


class PoolNominator:
    """Nominates one of these pools of a namespace."""

    def __init__(self, services: ClaimServices, namespace: str, pools: list[str]) -> None:
        self._services, self._namespace, self._pools = services, namespace, pools

    def nominate(self, claim: Claim) -> Nomination:
        """Choose a pool whose pods fit the claim; a pool with room comes first."""
        specs = {pool: spec for pool in self._pools if (spec := self._spec(pool))}
        fitting = sorted(pool for pool, spec in specs.items() if claim.selector.items() <= _labels(spec).items())
        with_room = [pool for pool in fitting if self._has_room(pool, specs[pool])]
        if with_room:
            return Nomination(with_room[0], Reason("WaitingForPod", f"pool {with_room[0]} has no free pod yet"))
        if fitting:
            message = f"no pod is free, and pool {fitting[0]} is at its maximum"
            return Nomination(fitting[0], Reason("PoolFull", message))
        return Nomination("", Reason("NoPool", _no_pool(claim, exists=bool(specs))))

    def enqueue(self, claim: Claim, name: str, created: str, pool: str) -> None:
        """Put the claim on the waiting list. A new entry wakes its pool."""
        entry = WaitingClaim(name, claim.uid, created, pool, bool(claim.pool), claim.owner, dict(claim.selector))
        if self._services.waiting.put(self._namespace, entry) and pool:
            self._services.queue.touch([pod_pool_key(self._namespace, pool)])

    def _spec(self, pool: str) -> PodPoolSpec | None:
        """None: there is no such pool, or it cannot grow."""
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


def _labels(spec: PodPoolSpec) -> dict[str, str]:
    return dict(KubeObject(spec.template).labels)


def _no_pool(claim: Claim, *, exists: bool) -> str:
    labels = ", ".join(f"{key}={value}" for key, value in sorted(claim.selector.items()))
    if not claim.pool:
        return f"no pool of the namespace makes pods with the labels {labels}"
    if exists:
        return f"pool {claim.pool} makes no pods with the labels {labels}"
    return f"there is no pool {claim.pool} in the namespace"
