"""Brings the idle pods of a pool and the claims that wait for one together.

Claims read from Redis which pods they may have. Their number counts for the size of the pool.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.routing import pod_claim_key
from domain.pod_pools.pod_steps import LedgerState, Member, claimable
from events.protocol.claim_index import concerned
from workers.kube.claimable_pods import claimable as as_claimable
from workers.pod_pools.observe import PodPoolObservation
from workers.run import Run
from workers.stores.claims.waiting import WaitingClaim
from workers.stores.slots.claimable import keep_claimable, tell_revision

Waiting = tuple[WaitingClaim, ...]


def publish_claimable(run: Run, ledger: SlotLedger, observed: PodPoolObservation, revision: str) -> None:
    """Write which pods claims may have, and the current revision. A new revision wakes the claims that have a pod."""
    pods = [
        as_claimable(observed.objects[member.uid], observed.now)
        for member in observed.members
        if claimable(member, revision)
    ]
    if keep_claimable(ledger, run.token, revision, pods) != revision:
        run.touch(
            concerned(ledger.redis, [observed.objects[member.uid] for member in observed.members if member.claimed_by])
        )
        tell_revision(ledger, revision)


def count_waiting(waiting: Waiting, pool: str, members: Collection[Member]) -> int:
    """How many claims wait for this pool to grow.

    Read the waiting claims before the pods: a claim that has a pod by now is not counted.
    """
    served = {
        member.claimed_by or member.token
        for member in members
        if member.claimed_by or member.view is LedgerState.CLAIMED
    }
    return sum(claim.pool == pool and claim.uid not in served for claim in waiting)


def wake_waiting(
    run: Run, waiting: Waiting, namespace: str, pool: str, observed: PodPoolObservation, revision: str
) -> None:
    """Wake as many waiting claims as there are idle pods. Every run does, so that no wake is lost."""
    idle = [observed.objects[member.uid].labels for member in observed.members if claimable(member, revision)]
    run.touch([pod_claim_key(namespace, claim.name) for claim in _served(waiting, pool, idle)])


def _served(waiting: Waiting, pool: str, idle: list[dict[str, str]]) -> Iterator[WaitingClaim]:
    """Give each claim a pod of its own, the oldest first. Where no pod fits, none fits an equal request."""
    hopeless: set[tuple[str, bool, frozenset[tuple[str, str]]]] = set()
    for claim in waiting:
        request = claim.pool, claim.only, frozenset(claim.selector.items())
        if not idle or request in hopeless:
            continue
        position = next((index for index, labels in enumerate(idle) if claim.fits(pool, labels)), -1)
        if position < 0:
            hopeless.add(request)
            continue
        del idle[position]
        yield claim
