"""The status of a PodClaimSet, as people read it with kubectl. It says nothing that the state does not say again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.claim_sets.decision import SetView
from domain.claim_sets.pod_claim_set import PodClaimSetStatus
from domain.claims.claim import ClaimPhase
from domain.status import Condition

VALID = Condition(type="Valid", status="True", reason="Accepted", message="")


def set_status(seen: SetView, selector: Mapping[str, str], generation: int, problem: str = "") -> dict[str, Any]:
    """`selector`: labels of its claims. `problem`: why the API server made or removed no claim, '' if it did."""
    return PodClaimSetStatus(
        observed_generation=generation,
        replicas=len(seen.live),
        ready_replicas=_ready(seen),
        updated_replicas=sum(m.current and m.phase is ClaimPhase.BOUND for m in seen.live),
        label_selector=",".join(f"{key}={value}" for key, value in sorted(selector.items())),
        conditions=[VALID, _complete(seen, problem), _updated(seen)],
    ).model_dump(by_alias=True)


def invalid_set_status(problem: str, generation: int) -> dict[str, Any]:
    """Only what is wrong: the rest stays as it was."""
    condition = Condition(type="Valid", status="False", reason="Invalid", message=problem)
    return {"observedGeneration": generation, "conditions": [condition.model_dump(by_alias=True)]}


def is_complete(status: Mapping[str, Any]) -> bool:
    """As it was shown: as many as wanted, each with a ready pod, and none is old."""
    told = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    return told.get("Ready") == told.get("Updated") == "True"


def missing(seen: SetView) -> str:
    """What keeps the set from what is wanted, '' if nothing does."""
    return _updated(seen).message or _complete(seen, "").message


def _ready(seen: SetView) -> int:
    return sum(member.ready for member in seen.live)


def _complete(seen: SetView, problem: str) -> Condition:
    """As many as wanted, each with a ready pod."""
    reason, message = _why_incomplete(seen, problem)
    return Condition(type="Ready", status="False" if reason else "True", reason=reason or "Complete", message=message)


def _why_incomplete(seen: SetView, problem: str) -> tuple[str, str]:
    moving = sum(member.moves for member in seen.live)
    if problem:
        return "Refused", problem
    if seen.surplus < 0:
        return "TooFew", f"{len(seen.live)} of {seen.wanted} claims are there"
    if seen.surplus > 0 and not seen.old:
        return "TooMany", f"{len(seen.live)} claims for {seen.wanted}; {moving} move and are not removed meanwhile"
    if _ready(seen) < seen.wanted:
        return "Waiting", f"{seen.wanted - _ready(seen)} of {seen.wanted} claims have no ready pod"
    return "", ""


def _updated(seen: SetView) -> Condition:
    """None is of an older template, or on a pod of an older one."""
    if not seen.old:
        return Condition(type="Updated", status="True", reason="Current", message="")
    waits = sorted(member.name for member in seen.booting)
    why = f"; waits for a ready pod of {', '.join(waits[:3])}" if waits else ""
    return Condition(
        type="Updated",
        status="False",
        reason="Replacing",
        message=f"{len(seen.old)} of {len(seen.live)} claims are old{why}",
    )
