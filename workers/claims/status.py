"""What people read of a claim: its status, written when it changes."""

from __future__ import annotations

from typing import Any

from domain.claims.claim import ClaimPhase
from domain.claims.status import MOVED, Reason, bound, claim_status, home, labels_applied, moved
from domain.kubernetes.names import BOUND_AT
from domain.kubernetes.objects import Pod
from domain.status import Condition, write_refused
from workers.claims.actions import Acting
from workers.claims.observe import Sight, Wish
from workers.kube.claimable_pods import additions_to

Json = dict[str, Any]


def show(acting: Acting, wish: Wish, seen: Sight, revision: str, otherwise: Reason) -> None:
    """`revision`: of the present template of its pool; `otherwise`: why it has no pod."""
    claim = acting.claim
    conditions = [Condition(type="Valid", status="True", reason="Accepted", message="")]
    conditions.append(bound(wish.claim, seen.view, otherwise))
    if (pod := home(wish.claim, seen.view)) and (labels := _labels(wish, seen.objects[pod.name])):
        conditions.append(labels)
    if move := moved(wish.claim, seen.view, acting.ended, _said(claim.status, MOVED)):
        conditions.append(move)
    since = claim.annotations.get(BOUND_AT, "")
    _write(acting, claim_status(wish.claim, seen.view, revision, claim.generation, since, conditions))


def _labels(wish: Wish, pod: Pod) -> Condition | None:
    return labels_applied(additions_to(pod, wish.spec.additional_pod_labels))


def show_invalid(acting: Acting, problem: str) -> None:
    """Only what is wrong: the rest stays as it was."""
    said = acting.claim.status
    condition = Condition(type="Valid", status="False", reason="Invalid", message=problem)
    kept = [each for each in said.get("conditions") or () if each["type"] != "Valid"]
    status = said | {"conditions": [condition.model_dump(by_alias=True), *kept]}
    _write(acting, {"phase": ClaimPhase.PENDING.value} | status | {"observedGeneration": acting.claim.generation})


def show_refused(acting: Acting, problem: str) -> None:
    """What stands in the way of the claim's next step; the status that follows a run without it says nothing of it."""
    said = acting.claim.status
    condition = write_refused(problem)
    kept = [each for each in said.get("conditions") or () if each["type"] != condition.type]
    status = said | {"conditions": [*kept, condition.model_dump(by_alias=True)]}
    _write(acting, {"phase": ClaimPhase.PENDING.value, "observedGeneration": acting.claim.generation} | status)


def _said(status: Json, kind: str) -> Json | None:
    return next((each for each in status.get("conditions") or () if each["type"] == kind), None)


def _write(acting: Acting, status: Json) -> None:
    acting.services.index.shows(acting.namespace, acting.name, status["phase"])
    wanted = {key: value for key, value in status.items() if value is not None}
    if wanted == acting.claim.status:
        return
    acting.keep()
    acting.wrote(acting.services.claims.set_status(acting.claim, status))
