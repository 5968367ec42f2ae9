"""Build the status of a PodClaimSet. The status is derived entirely from observed state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.claim_sets.decision import SetView
from domain.claim_sets.pod_claim_set import PodClaimSetStatus
from domain.claims.claim import ClaimPhase
from domain.claims.status import Reason
from domain.status import Condition

VALID = Condition(type="Valid", status="True", reason="Accepted", message="")


def set_status(
    observed: SetView, selector: Mapping[str, str], generation: int, problem: str | None = None
) -> dict[str, Any]:
    """Build the status.

    Args:
        observed: the set and its claims.
        selector: the labels of the set's claims.
        generation: the generation of the set that was read.
        problem: why the API server refused the last step, None if it did not.

    """
    return PodClaimSetStatus(
        observed_generation=generation,
        replicas=len(observed.live),
        ready_replicas=_ready(observed),
        updated_replicas=sum(member.current and member.phase is ClaimPhase.BOUND for member in observed.live),
        label_selector=",".join(f"{key}={value}" for key, value in sorted(selector.items())),
        conditions=[VALID, _complete(observed, problem), _updated(observed)],
    ).model_dump(by_alias=True)


def invalid_set_status(problem: str, generation: int) -> dict[str, Any]:
    """Build the status of a set whose spec is invalid. Its other fields stay as they are."""
    condition = Condition(type="Valid", status="False", reason="Invalid", message=problem)
    return {"observedGeneration": generation, "conditions": [condition.model_dump(by_alias=True)]}


def is_complete(status: Mapping[str, Any]) -> bool:
    """Whether this status says that the set is complete: all claims exist, have a ready pod, and none is old."""
    statuses = {condition["type"]: condition["status"] for condition in status.get("conditions") or ()}
    return statuses.get("Ready") == statuses.get("Updated") == "True"


def missing(observed: SetView) -> str | None:
    """Say what keeps the set from being complete; None if nothing does."""
    return _updated(observed).message or _complete(observed, None).message or None


def _ready(observed: SetView) -> int:
    return sum(member.reachable for member in observed.live)


def _complete(observed: SetView, problem: str | None) -> Condition:
    """Build the condition Ready: all claims exist and have a ready pod."""
    reason = _why_incomplete(observed, problem)
    if reason is None:
        return Condition(type="Ready", status="True", reason="Complete", message="")
    return Condition(type="Ready", status="False", reason=reason.word, message=reason.message)


def _why_incomplete(observed: SetView, problem: str | None) -> Reason | None:
    if problem is not None:
        return Reason("Refused", problem)
    if observed.surplus < 0:
        return Reason("TooFew", f"{len(observed.live)} of {observed.wanted} claims are there")
    if observed.surplus > 0 and not observed.old:
        moving = sum(member.moves for member in observed.live)
        counts = f"{len(observed.live)} claims for {observed.wanted}"
        return Reason("TooMany", f"{counts}; {moving} move and are not removed meanwhile")
    if _ready(observed) < observed.wanted:
        unready = observed.wanted - _ready(observed)
        return Reason("Waiting", f"{unready} of {observed.wanted} claims have no ready pod")
    return None


def _updated(observed: SetView) -> Condition:
    """Build the condition Updated: every claim is of the set's present template, and on a pod of its pool's."""
    if not observed.old:
        return Condition(type="Updated", status="True", reason="Current", message="")
    waits = sorted(member.name for member in observed.booting)
    why = f"; waits for a ready pod of {', '.join(waits[:3])}" if waits else ""
    return Condition(
        type="Updated",
        status="False",
        reason="Replacing",
        message=f"{len(observed.old)} of {len(observed.live)} claims are old{why}",
    )
