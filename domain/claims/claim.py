"""A claim as its reconciler reads it, and the claim's phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from domain.claims.pod import ClaimablePod


class ClaimPhase(StrEnum):
    """The phase in a claim's status."""

    PENDING = "Pending"  # never had a pod
    BOUND = "Bound"
    OUTDATED = "Outdated"  # bound to a pod of an older template
    LOST = "Lost"  # its pod is gone or unusable


class PodLossPolicy(StrEnum):
    """What a claim does when it loses its pod (`whenLost`)."""

    REBIND = "Rebind"
    STAY = "Stay"


@dataclass(frozen=True)
class Claim:
    """A claim.

    Attributes:
        pod: name of the pod that the claim names; during a move, the target.
        source: name of the pod that the claim leaves during a move, else ''.
        marked: an annotation records that the claim took the target of its move.
        served: the claim had a pod before.

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
    when_lost: PodLossPolicy = PodLossPolicy.REBIND

    @property
    def moves(self) -> bool:
        """Whether the claim is moving from one pod to another."""
        return bool(self.source)


def phase_of(claim: Claim, pod: ClaimablePod | None, revision: str) -> ClaimPhase:
    """Return the claim's phase.

    Args:
        claim: the claim.
        pod: the pod that the claim lives on, if any.
        revision: the revision of the pool's present template, '' if it is unknown.

    """
    if pod is None or pod.claimed_by != claim.uid:
        return ClaimPhase.LOST if claim.served else ClaimPhase.PENDING
    return ClaimPhase.OUTDATED if revision and pod.revision != revision else ClaimPhase.BOUND
