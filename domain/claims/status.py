"""Build the status of a PodClaim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from domain.claims.additions import LABELS_APPLIED, Additions
from domain.claims.claim import Claim, phase_of
from domain.claims.decision import ClaimView
from domain.claims.labels import moment
from domain.claims.pod import ClaimablePod, Phase
from domain.claims.pod_claim import Migration, PodClaimStatus
from domain.status import Condition

BOUND: Final = "Bound"
MOVED: Final = "Moved"
ASKED, TAKEN, DRAINING = "Asked", "TargetTaken", "SourceDraining"


@dataclass(frozen=True)
class Reason:
    """A word for programs, and a sentence for people."""

    word: str
    message: str


def home(claim: Claim, observed: ClaimView) -> ClaimablePod | None:
    """Return the pod that the claim lives on: the pod that it names or the pod that it leaves, if it has that pod."""
    own = {pod.name: pod for pod in observed.labelled}
    return own.get(claim.pod) or own.get(claim.source)


def claim_status(
    claim: Claim, observed: ClaimView, revision: str, generation: int, bound_at: str, conditions: Iterable[Condition]
) -> dict[str, Any]:
    """Build the status.

    Args:
        claim: the claim.
        observed: its pods.
        revision: the revision of the present template of its pool.
        generation: the generation of the claim that was read.
        bound_at: the annotation with the time of binding. Anybody may have written it.
        conditions: the conditions of the status.

    """
    pod, since = home(claim, observed), moment(bound_at)
    return PodClaimStatus(
        phase=phase_of(claim, pod, revision),
        observed_generation=generation,
        bound_time=since.isoformat(timespec="seconds") if since else None,
        migration=migration(claim, observed),
        conditions=list(conditions),
    ).model_dump(by_alias=True, mode="json")


def migration(claim: Claim, observed: ClaimView) -> Migration | None:
    """Describe the claim's move; None if it does not move."""
    return Migration(source=claim.source, target=claim.pod, progress=progress(claim, observed)) if claim.moves else None


def progress(claim: Claim, observed: ClaimView) -> str:
    """Say how far the claim's move is."""
    if claim.pod not in observed.names:
        return ASKED
    source = observed.named.get(claim.source)
    drains = claim.source not in observed.names and source is not None and source.phase is Phase.DRAINING
    return DRAINING if drains else TAKEN


def bound_condition(claim: Claim, observed: ClaimView, otherwise: Reason) -> Condition:
    """Build the condition Bound. `otherwise` says why the claim has no pod, where it has none."""
    if pod := home(claim, observed):
        return Condition(type=BOUND, status="True", reason="HasPod", message=f"it has pod {pod.name}")
    return Condition(type=BOUND, status="False", reason=otherwise.word, message=otherwise.message)


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
    if ended or not claim.moves:
        return ended or _last_move(before)
    message = f"from {claim.source} to {claim.pod}"
    return Condition(type=MOVED, status="False", reason=progress(claim, observed), message=message)


def _last_move(before: Mapping[str, Any] | None) -> Condition | None:
    if before is None:
        return None
    last = Condition.model_validate(before)
    unfinished = last.reason in (ASKED, TAKEN, DRAINING)
    return last.model_copy(update={"reason": "Ended"}) if unfinished else last


def labels_condition(added: Additions) -> Condition | None:
    """Build the condition LabelsApplied; None if the claim asks for no labels."""
    if added.left_out:
        return Condition(type=LABELS_APPLIED, status="False", reason="LabelsLeftOut", message=added.in_words())
    return Condition(type=LABELS_APPLIED, status="True", reason="Applied", message="") if added.labels else None


def move_completed(source: str, target: str) -> Condition:
    """Build the condition of a move that ended at its target."""
    return Condition(type=MOVED, status="True", reason="Moved", message=f"from {source} to {target}")


def move_refused(target: str, why: str) -> Condition:
    """Build the condition of a move whose target the claim cannot have."""
    return Condition(type=MOVED, status="False", reason="TargetRefused", message=f"{target}: {why}")
