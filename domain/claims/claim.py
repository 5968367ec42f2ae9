"""A claim as its runs see it, and what its phase is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from domain.claims.pod import ClaimablePod


class ClaimPhase(StrEnum):
    PENDING = "Pending"  # has had no pod yet
    BOUND = "Bound"
    OUTDATED = "Outdated"  # bound to a pod of an older template
    LOST = "Lost"  # its pod is gone or of no use


class WhenLost(StrEnum):
    REBIND = "Rebind"
    STAY = "Stay"


@dataclass(frozen=True)
class Claim:
    """`source`: while it moves, the pod that it leaves. `marked`: it is recorded that the target is taken.

    `served`: it has had a pod before.
    """

    uid: str
    pool: str = ""
    owner: str = ""
    selector: Mapping[str, str] = field(default_factory=dict)
    pod: str = ""
    source: str = ""
    marked: bool = False
    deleting: bool = False
    served: bool = False
    when_lost: WhenLost = WhenLost.REBIND

    @property
    def moves(self) -> bool:
        return bool(self.source)


def phase_of(claim: Claim, pod: ClaimablePod | None, revision: str) -> ClaimPhase:
    """`pod`: the one that it names, if that is its own; `revision`: of the pool's present template, '' if unknown."""
    if pod is None or pod.claimed_by != claim.uid:
        return ClaimPhase.LOST if claim.served else ClaimPhase.PENDING
    return ClaimPhase.OUTDATED if revision and pod.revision != revision else ClaimPhase.BOUND
