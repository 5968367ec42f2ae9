"""Build the status of a PodClaim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from domain.claims.additions import ADDITIONS_APPLIED, Additions
from domain.claims.address import PodAddress
from domain.claims.claim import Claim, phase_of
from domain.claims.decision import ClaimView
from domain.claims.labels import moment, stamp
from domain.claims.lifetime import Lifetime
from domain.claims.pod import Phase, PoolPod
from domain.claims.pod_claim import Migration, PodClaimStatus
from domain.quantity import in_units
from domain.status import Condition

BOUND: Final = "Bound"
MOVED: Final = "Moved"
EXPIRED: Final = "Expired"
REACHABLE: Final = "Reachable"
POD_LOST: Final = "PodLost"
"""Reason of Bound for a claim that has lost its pod and waits for no other."""
WAITING_FOR_PORTS: Final = "WaitingForPorts"
"""Reason of Bound for a claim that has a pod without its ports."""
ASKED, TAKEN, DRAINING = "Asked", "TargetTaken", "SourceDraining"


@dataclass(frozen=True)
class Reason:
    """A word for programs, and a sentence for people."""

    word: str
    message: str


def home(claim: Claim, observed: ClaimView) -> PoolPod | None:
    """Return the pod that the claim lives on: the pod that it names or the pod that it leaves, if it has that pod."""
    own = {pod.name: pod for pod in observed.labelled}
    return next((own[name] for name in claim.names if name in own), None)


def claim_status(
    claim: Claim,
    observed: ClaimView,
    revision: str | None,
    generation: int,
    bound_time: str | None,
    conditions: Iterable[Condition],
    *,
    waits: bool,
) -> dict[str, Any]:
    """Build the status, without the claim's address and lifetime.

    Args:
        claim: the claim.
        observed: its pods.
        revision: the revision of the present template of its pool, None if it is unknown.
        generation: the generation of the claim that was read.
        bound_time: since when it has its pod (see bound_time_of).
        conditions: the conditions of the status.
        waits: the claim waits for the ports of its pod.

    """
    return PodClaimStatus(
        phase=phase_of(claim, home(claim, observed), revision, waits=waits),
        observed_generation=generation,
        bound_time=bound_time,
        migration=migration(claim, observed),
        conditions=list(conditions),
    ).model_dump(by_alias=True, mode="json")


def bound_time_of(bound_at: str | None) -> str | None:
    """Return the time of binding for the status. `bound_at` is its annotation, which anybody may have written."""
    since = moment(bound_at) if bound_at else None
    return stamp(since) if since else None


def address_status(pod: str | None, address: PodAddress, *, waits: bool) -> dict[str, Any]:
    """Build the part of the status about where the claim's pod is reached.

    Args:
        pod: the pod that the claim has, None if it has none.
        address: that of the pod.
        waits: the claim waits for the ports of the pod. Then nobody shall use some of the endpoints yet.

    """
    endpoints = None if waits else [endpoint.model_dump(by_alias=True) for endpoint in address.endpoints]
    return {
        "podName": pod,
        "nodeName": address.node,
        "podIPs": list(address.ips) or None,
        "endpoints": endpoints or None,
    }


def lifetime_status(lifetime: Lifetime) -> dict[str, str | None]:
    """Build the part of the status about the claim's lifetime."""
    expiry, recorded = lifetime.expiry, lifetime.recorded
    return {
        "expiryTime": stamp(expiry) if expiry else None,
        "renewedTime": stamp(recorded.time) if recorded else None,
        "observedRenewal": recorded.text if recorded else None,
    }


def migration(claim: Claim, observed: ClaimView) -> Migration | None:
    """Describe the claim's move; None if it does not move."""
    if claim.source is None or claim.pod is None:
        return None
    return Migration(source=claim.source, target=claim.pod, progress=progress(claim.source, claim.pod, observed))


def progress(source_name: str, target: str, observed: ClaimView) -> str:
    """Say how far a move is."""
    if target not in observed.names:
        return ASKED
    source = observed.named.get(source_name)
    drains = source_name not in observed.names and source is not None and source.phase is Phase.DRAINING
    return DRAINING if drains else TAKEN


def bound_condition(claim: Claim, observed: ClaimView, otherwise: Reason, waits: str | None) -> Condition:
    """Build the condition Bound.

    Args:
        claim: the claim.
        observed: its pods.
        otherwise: the reason if the claim has no pod.
        waits: why the pod has not its ports yet, None if the claim does not wait for them.

    """
    if waits:
        return Condition(type=BOUND, status="False", reason=WAITING_FOR_PORTS, message=waits)
    if pod := home(claim, observed):
        return Condition(type=BOUND, status="True", reason="HasPod", message=f"it has pod {pod.name}")
    return Condition(type=BOUND, status="False", reason=otherwise.word, message=otherwise.message)


def waits(before: Mapping[str, Any] | None) -> bool:
    """Tell whether a claim waited for a pod when its condition Bound was `before`, None for a claim without it."""
    others = (POD_LOST, WAITING_FOR_PORTS)
    return before is not None and before.get("status") == "False" and before.get("reason") not in others


def reachable_condition(address: PodAddress) -> Condition | None:
    """Build the condition Reachable of a Bound claim; None if its pod asks for no ports."""
    if not address.asks:
        return None
    if address.missing is None:
        return Condition(type=REACHABLE, status="True", reason="PortsBound", message="")
    return Condition(type=REACHABLE, status="False", reason="PortsMissing", message=address.missing)


def moved_condition(
    claim: Claim, observed: ClaimView, ended: Condition | None, before: Mapping[str, Any] | None
) -> Condition | None:
    """Build the condition Moved; None if the claim never moved.

    Args:
        claim: the claim.
        observed: its pods.
        ended: how the move ended in this run, if it did.
        before: the condition Moved of the last status.

    """
    move = migration(claim, observed)
    if ended or move is None:
        return ended or _last_move(before)
    message = f"from {move.source} to {move.target}"
    return Condition(type=MOVED, status="False", reason=move.progress, message=message)


def _last_move(before: Mapping[str, Any] | None) -> Condition | None:
    if before is None:
        return None
    last = Condition.model_validate(before)
    unfinished = last.reason in (ASKED, TAKEN, DRAINING)
    return last.model_copy(update={"reason": "Ended"}) if unfinished else last


def additions_condition(added: Additions) -> Condition | None:
    """Build the condition AdditionsApplied; None if the claim asks for no labels and no annotations."""
    if added.left_out:
        return Condition(type=ADDITIONS_APPLIED, status="False", reason="LeftOut", message=added.in_words())
    return Condition(type=ADDITIONS_APPLIED, status="True", reason="Applied", message="") if added.metadata else None


def expired_condition(lifetime: Lifetime) -> Condition:
    """Build the condition of a claim that has expired and is deleted."""
    since = f"was renewed at {stamp(lifetime.recorded.time)}" if lifetime.recorded else "was never renewed"
    lived = f"its ttl is {in_units(lifetime.ttl)}" if lifetime.ttl else "it has no ttl"
    return Condition(type=EXPIRED, status="True", reason="TTLPassed", message=f"{lived}, and it {since}")


def move_completed(claim: Claim) -> Condition:
    """Build the condition of a move that ended at its target."""
    return Condition(type=MOVED, status="True", reason="Moved", message=f"from {claim.source} to {claim.pod}")


def move_refused(claim: Claim, why: str) -> Condition:
    """Build the condition of a move whose target the claim cannot have."""
    return Condition(type=MOVED, status="False", reason="TargetRefused", message=f"{claim.pod}: {why}")
