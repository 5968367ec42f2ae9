"""Choose which claim of a set goes first."""

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
    """A claim of a set.

    Attributes:
        version: the claim's resourceVersion.
        scheduled, pod_phase, ready: the state of the claim's pod.
        cost: the deletion cost of the claim's pod.
        current: the claim was created from the set's present template.

    """

    name: str
    phase: ClaimPhase
    created: datetime
    version: str
    has_pod: bool = False
    moves: bool = False
    deleting: bool = False
    scheduled: bool = False
    pod_phase: str = "Pending"
    ready: bool = False
    cost: int = 0
    current: bool = True

    @property
    def old(self) -> bool:
        """Whether a rollout replaces the claim."""
        return not self.current or self.phase is ClaimPhase.OUTDATED

    @property
    def reachable(self) -> bool:
        """Whether the claim has a ready pod, of whichever template, whose address it shows."""
        return self.ready and self.phase in (ClaimPhase.BOUND, ClaimPhase.OUTDATED)

    @property
    def serves(self) -> bool:
        """Whether the claim has a ready pod of the pool's present template."""
        return self.ready and self.phase is ClaimPhase.BOUND


def first_to_go(members: Iterable[SetMember]) -> tuple[SetMember, ...]:
    """Return the claims in the order of removal. A claim that moves is left out: it would leave two pods behind."""
    chosen = [member for member in members if not member.moves and not member.deleting]
    chosen.sort(key=lambda member: (len(member.name), member.name), reverse=True)  # higher number first within a second
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
