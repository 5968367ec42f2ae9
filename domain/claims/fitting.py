"""Say whether a claim can have a pod, and why not."""

from __future__ import annotations

from domain.claims.claim import Claim
from domain.claims.pod import ClaimablePod


def unfit(claim: Claim, pod: ClaimablePod, revision: str) -> str | None:
    """Say why a claim cannot have a pod; None if it can. `revision` is that of the pool's present template."""
    return _not_wanted(claim, pod) or _not_free(pod) or _not_now(pod, revision)


def _not_wanted(claim: Claim, pod: ClaimablePod) -> str | None:
    if not pod.pool:
        return "it is of no pool"
    if claim.pool and pod.pool != claim.pool:
        return f"it is of pool {pod.pool}, and the claim wants one of {claim.pool}"
    missing = sorted(f"{key}={value}" for key, value in claim.selector.items() if pod.labels.get(key) != value)
    return f"it lacks the labels {', '.join(missing)}" if missing else None


def _not_free(pod: ClaimablePod) -> str | None:
    if pod.free:
        return None
    if pod.claimed_by:
        return f"claim {pod.claimed_by} has it"
    if pod.terminating:
        return "it is being deleted"
    return f"it is {pod.phase.value}" if pod.alive else "it does not run"


def _not_now(pod: ClaimablePod, revision: str) -> str | None:
    if pod.cordoned:
        return "it is cordoned"
    if not pod.normal:
        return "it is not ready, or is being changed"
    return None if pod.revision == revision else "it is of an older template of its pool"
