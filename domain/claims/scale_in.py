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
    """A claim of a set. `pod_phase`, `scheduled`, `ready`, `cost` (of deletion) are its pod's."""

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


def first_to_go(members: Iterable[SetMember]) -> tuple[SetMember, ...]:
    """In the order of removal. One that moves is never chosen: it would leave two pods behind."""
    chosen = [m for m in members if not m.moves and not m.deleting]
    return tuple(sorted(chosen, key=_rank))


def _rank(member: SetMember) -> tuple[float | str, ...]:
    return (
        member.has_pod,
        RANK[member.phase],
        member.scheduled,
        POD_RANK.get(member.pod_phase, 0),
        member.ready,
        member.cost,
        -member.created.timestamp(),
        member.name,
    )
