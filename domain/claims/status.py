"""The status of a PodClaim, as people read it with kubectl."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from domain.claims.additions import LABELS_APPLIED, Additions
from domain.claims.claim import Claim, phase_of
from domain.claims.decision import View
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


def home(claim: Claim, seen: View) -> ClaimablePod | None:
    """The pod that it lives on: the one that it names, or the one that it leaves, whichever is its own."""
    own = {pod.name: pod for pod in seen.labelled}
    return own.get(claim.pod) or own.get(claim.source)


def claim_status(
    claim: Claim, seen: View, revision: str, generation: int, bound_at: str, conditions: Iterable[Condition]
) -> dict[str, Any]:
    """`revision`: of the present template of its pool. `bound_at`: the annotation, which anybody may have written."""
    pod, since = home(claim, seen), moment(bound_at)
    return PodClaimStatus(
        phase=phase_of(claim, pod, revision),
        observed_generation=generation,
        bound_time=since.isoformat(timespec="seconds") if since else None,
        migration=migration(claim, seen),
        conditions=list(conditions),
    ).model_dump(by_alias=True, mode="json")


def migration(claim: Claim, seen: View) -> Migration | None:
    return Migration(source=claim.source, target=claim.pod, progress=progress(claim, seen)) if claim.moves else None


def progress(claim: Claim, seen: View) -> str:
    if claim.pod not in seen.names:
        return ASKED
    source = seen.named.get(claim.source)
    drains = claim.source not in seen.names and source is not None and source.phase is Phase.DRAINING
    return DRAINING if drains else TAKEN


def bound(claim: Claim, seen: View, otherwise: Reason) -> Condition:
    """`otherwise`: why it has no pod."""
    if pod := home(claim, seen):
        return Condition(type=BOUND, status="True", reason="HasPod", message=f"it has pod {pod.name}")
    return Condition(type=BOUND, status="False", reason=otherwise.word, message=otherwise.message)


def moved(claim: Claim, seen: View, ended: Condition | None, before: Mapping[str, Any] | None) -> Condition | None:
    """`ended`: how a move has ended just now; `before`: what was said of the last one."""
    if ended or not claim.moves:
        return ended or _kept(before)
    message = f"from {claim.source} to {claim.pod}"
    return Condition(type=MOVED, status="False", reason=progress(claim, seen), message=message)


def _kept(before: Mapping[str, Any] | None) -> Condition | None:
    if before is None:
        return None
    said = Condition.model_validate(before)
    goes_on = said.reason in (ASKED, TAKEN, DRAINING)
    return said.model_copy(update={"reason": "Ended"}) if goes_on else said


def labels_applied(added: Additions) -> Condition | None:
    """None where nothing is asked for."""
    if added.left_out:
        return Condition(type=LABELS_APPLIED, status="False", reason="LabelsLeftOut", message=added.in_words())
    return Condition(type=LABELS_APPLIED, status="True", reason="Applied", message="") if added.labels else None


def has_moved(source: str, target: str) -> Condition:
    return Condition(type=MOVED, status="True", reason="Moved", message=f"from {source} to {target}")


def refused(target: str, why: str) -> Condition:
    return Condition(type=MOVED, status="False", reason="TargetRefused", message=f"{target}: {why}")
