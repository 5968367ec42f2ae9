"""Claims that wait for a pod of this pool: counted for its size, and woken when there are idle pods."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from berthmaster.routing import pod_claim_key
from domain.pod_pools.pod_steps import Member, View, claimable
from workers.pod_pools.observe import Seen
from workers.run import Run
from workers.stores.claims.waiting import WaitingClaim

Waiting = tuple[WaitingClaim, ...]


def count(waiting: Waiting, pool: str, members: Collection[Member]) -> int:
    """How many wait for this pool to grow. Ask who waits before pods are listed: who has one by now is none of them."""
    served = {m.claimed_by or m.token for m in members if m.claimed_by or m.view is View.CLAIMED}
    return sum(claim.pool == pool and claim.uid not in served for claim in waiting)


def wake(run: Run, waiting: Waiting, namespace: str, pool: str, seen: Seen, revision: str) -> None:
    """As many as there are idle pods, every time: so that no wake is lost."""
    idle = [seen.objects[m.uid].labels for m in seen.members if claimable(m, revision)]
    run.touch([pod_claim_key(namespace, claim.name) for claim in _served(waiting, pool, idle)])


def _served(waiting: Waiting, pool: str, idle: list[dict[str, str]]) -> Iterator[WaitingClaim]:
    """The oldest first, each with a pod of its own. Where one finds none, no other with its wish does."""
    hopeless: set[tuple[str, bool, frozenset[tuple[str, str]]]] = set()
    for claim in waiting:
        wish = claim.pool, claim.only, frozenset(claim.selector.items())
        if not idle or wish in hopeless:
            continue
        fits = next((n for n, labels in enumerate(idle) if claim.fits(pool, labels)), -1)
        if fits < 0:
            hopeless.add(wish)
            continue
        del idle[fits]
        yield claim
