"""A claim as its reconciler reads it, and the phase of a claim."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from domain.claims.pod import PoolPod
from domain.claims.pod_request import PodRequest


class ClaimPhase(StrEnum):
    """The phase in a claim's status."""

    PENDING = "Pending"  # never had a pod, or waits for the ports of the one that it has
    BOUND = "Bound"
    OUTDATED = "Outdated"  # bound to a pod of an older template
    LOST = "Lost"  # the pod that it was Bound to is gone or unusable


class PodLossPolicy(StrEnum):
    """What a claim does when it loses its pod (`whenLost`)."""

    REBIND = "Rebind"
    STAY = "Stay"


@dataclass(frozen=True)
class Claim:
    """A claim.

    Attributes:
        request: what the claim asks of its pod.
        owner: the claim's owner, None if it names none. The claim prefers pods that this owner had last.
        pod: name of the pod that the claim names, None for none; during a move, the target.
        source: name of the pod that the claim leaves; None unless the claim moves.
        marked: an annotation records that the claim took the target of its move.
        served: the claim was shown Bound to a pod before, and has waited for no other one since.
        waits_for_ports: the claim is Bound only once its pod has the ports that the pod asks for.

    """

    uid: str
    request: PodRequest = field(default_factory=PodRequest)
    owner: str | None = None
    pod: str | None = None
    source: str | None = None
    marked: bool = False
    deleting: bool = False
    served: bool = False
    waits_for_ports: bool = True
    when_lost: PodLossPolicy = PodLossPolicy.REBIND

    @property
    def moves(self) -> bool:
        """Whether the claim is moving from one pod to another."""
        return self.source is not None

    @property
    def names(self) -> tuple[str, ...]:
        """The pods that the claim names: its pod, and the pod that it leaves."""
        return tuple(name for name in (self.pod, self.source) if name is not None)


def phase_of(claim: Claim, pod: PoolPod | None, revision: str | None, *, waits: bool = False) -> ClaimPhase:
    """Return the claim's phase.

    Args:
        claim: the claim.
        pod: the pod that the claim lives on, if any.
        revision: the revision of the pool's present template, None if it is unknown.
        waits: the claim waits for the ports of its pod.

    """
    if pod is None or pod.claimed_by != claim.uid:
        return ClaimPhase.LOST if claim.served else ClaimPhase.PENDING
    if waits:
        return ClaimPhase.PENDING
    return ClaimPhase.OUTDATED if revision and pod.revision != revision else ClaimPhase.BOUND
