"""Write what people read on a claim: its status, when it has changed."""

from __future__ import annotations

from typing import Any

from domain.claims.claim import ClaimPhase
from domain.claims.status import (
    MOVED,
    Reason,
    bound_condition,
    claim_status,
    home,
    labels_condition,
    moved_condition,
)
from domain.kubernetes.names import BOUND_AT
from domain.status import Condition, write_refused
from workers.claims.context import ClaimContext
from workers.claims.observe import ClaimObservation
from workers.kube.claimable_pods import additions_to

Json = dict[str, Any]


def publish_status(
    context: ClaimContext, observed: ClaimObservation, move_end: Condition | None, revision: str, otherwise: Reason
) -> None:
    """Publish the status of a claim whose spec is valid.

    Args:
        context: the run of the claim.
        observed: what the run's last decision came from.
        move_end: the condition Moved of a move that ended in this run.
        revision: the revision of the present template of the pod's pool, '' if it is unknown.
        otherwise: why the claim has no pod, where it has none.

    """
    claim, view, last = observed.claim, observed.view, context.claim
    conditions = [Condition(type="Valid", status="True", reason="Accepted", message="")]
    conditions.append(bound_condition(claim, view, otherwise))
    if labels := _labels_applied(observed):
        conditions.append(labels)
    if move := moved_condition(claim, view, move_end, _condition(last.status, MOVED)):
        conditions.append(move)
    since = last.annotations.get(BOUND_AT, "")
    _write(context, claim_status(claim, view, revision, last.generation, since, conditions))


def publish_invalid(context: ClaimContext, problem: str) -> None:
    """Say that the spec is invalid. The rest of the status stays as it is."""
    last = context.claim.status
    condition = Condition(type="Valid", status="False", reason="Invalid", message=problem)
    others = [entry for entry in last.get("conditions") or () if entry["type"] != "Valid"]
    status = last | {"conditions": [condition.model_dump(by_alias=True), *others]}
    _write(context, {"phase": ClaimPhase.PENDING.value} | status | {"observedGeneration": context.claim.generation})


def publish_refused(context: ClaimContext, problem: str) -> None:
    """Say that Kubernetes refuses the claim's next step. The next status without a refusal drops this condition."""
    last = context.claim.status
    condition = write_refused(problem)
    others = [entry for entry in last.get("conditions") or () if entry["type"] != condition.type]
    status = last | {"conditions": [*others, condition.model_dump(by_alias=True)]}
    _write(context, {"phase": ClaimPhase.PENDING.value, "observedGeneration": context.claim.generation} | status)


def _labels_applied(observed: ClaimObservation) -> Condition | None:
    pod = home(observed.claim, observed.view)
    if pod is None:
        return None
    return labels_condition(additions_to(observed.objects[pod.name], observed.request.spec.additional_pod_labels))


def _condition(status: Json, kind: str) -> Json | None:
    return next((entry for entry in status.get("conditions") or () if entry["type"] == kind), None)


def _write(context: ClaimContext, status: Json) -> None:
    context.services.index.shows(context.namespace, context.name, status["phase"])
    present = {key: value for key, value in status.items() if value is not None}
    if present == context.claim.status:
        return
    context.extend_lease()
    context.update(context.services.claims.set_status(context.claim, status))
