"""Which claim of a set goes first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from domain.claims.claim import ClaimPhase

RANK: Final = {ClaimPhase.PENDING: 0, ClaimPhase.LOST: 1, ClaimPhase.OUTDATED: 2, ClaimPhase.BOUND: 3}
POD_RANK: Final = {"Pending": 0, "Unknown": 0, "Failed": 1, "Succeeded": 1, "Running": 2}


@dataclass(frozen=True)
class SetMember:
    """A claim of a set. `pod_phase`, `scheduled`, `ready`, `cost` (of deletion) are its pod's.

    `current`: made from the set's present template.
    """

    name: str
    phase: ClaimPhase
    created: datetime
    has_pod: bool = False
    moves: bool = False
    deleting: bool = False
    scheduled: bool = False
    pod_phase: str = "Pending"
    ready: bool = False
    cost: int = 0
    current: bool = True
    version: str = ""

    @property
    def old(self) -> bool:
        """Another is made in its place."""
        return not self.current or self.phase is ClaimPhase.OUTDATED

    @property
    def serves(self) -> bool:
        return self.ready and self.phase is ClaimPhase.BOUND


def first_to_go(members: Iterable[SetMember]) -> tuple[SetMember, ...]:
    """In the order of removal. One that moves is never chosen: it would leave two pods behind."""
    chosen = [m for m in members if not m.moves and not m.deleting]
    chosen.sort(key=lambda m: (len(m.name), m.name), reverse=True)  # of one second: the higher number
    return tuple(sorted(chosen, key=_rank))


def _rank(member: SetMember) -> tuple[float, ...]:
    return (
        member.has_pod,
        min(RANK[member.phase], RANK[ClaimPhase.OUTDATED]) if member.old else RANK[member.phase],
        member.scheduled,
        POD_RANK.get(member.pod_phase, 0),
        member.ready,
        member.cost,
        -member.created.timestamp(),
    )
