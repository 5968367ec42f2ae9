"""Write the status of a claim when it has changed."""

from __future__ import annotations

from typing import Any

from berthmaster.events import AllocationFailed
from berthmaster.routing import pod_claim_key
from domain.claims.address import PodAddress, awaited_ports
from domain.claims.claim import ClaimPhase
from domain.claims.status import (
    BOUND,
    MOVED,
    Reason,
    additions_condition,
    address_status,
    bound_condition,
    bound_time_of,
    claim_status,
    home,
    lifetime_status,
    moved_condition,
    reachable_condition,
    waits,
)
from domain.kubernetes.names import BOUND_AT, CLAIM_SET, REQUESTED
from domain.status import Condition, write_refused
from workers.claims.answer import answer_of
from workers.claims.context import ClaimContext
from workers.claims.observe import ClaimObservation
from workers.kube.claim_pods import pod_address
from workers.stores.claims.shown import record_of
from workers.stores.journal import REPORTER

Json = dict[str, Any]


def publish_status(
    context: ClaimContext,
    observed: ClaimObservation,
    move_end: Condition | None,
    revision: str | None,
    otherwise: Reason,
) -> None:
    """Publish the status of a claim whose spec is valid.

    Args:
        context: the run of the claim.
        observed: what the run's last decision came from.
        move_end: the condition Moved of a move that ended in this run.
        revision: the revision of the present template of the pod's pool, None if it is unknown.
        otherwise: the reason why the claim has no pod, if it has none.

    """
    claim, view, last = observed.claim, observed.view, context.claim
    pod, since = home(claim, view), bound_time_of(last.annotations.get(BOUND_AT))
    address = pod_address(observed.objects[pod.name]) if pod else PodAddress()
    missing = awaited_ports(claim, address, last.status, since, wait=observed.request.spec.wait_for_ports)
    conditions = (
        Condition(type="Valid", status="True", reason="Accepted", message=""),
        bound_condition(claim, view, otherwise, missing),
        None if missing else reachable_condition(address),
        _additions_applied(context, observed),
        moved_condition(claim, view, move_end, _condition(last.status, MOVED)),
    )
    awaits, present = missing is not None, filter(None, conditions)
    status = claim_status(claim, view, revision, last.generation, since, present, waits=awaits)
    where = address_status(pod.name if pod else None, address, waits=awaits)
    _write(context, status | where | lifetime_status(observed.request.lifetime))


def report_wait(context: ClaimContext, reason: Reason, pool: str | None) -> None:
    """Write the event of a claim that begins to wait, before the status says that it waits.

    A run that dies in between is repeated and writes the event again, under the same id: a claim that gets or loses a
    pod has a new generation (Rule tellfirst).
    """
    claim, services = context.claim, context.services
    if waits(_condition(claim.status, BOUND)):
        return
    failed = AllocationFailed(
        key=pod_claim_key(context.namespace, context.name),
        uid=claim.uid,
        resource="pod",
        pool=pool,
        reason=reason.word,
        message=reason.message,
        reporter=REPORTER,
    )
    services.journal.write(f"{claim.uid}/{claim.generation}", services.now(), failed)


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


def _additions_applied(context: ClaimContext, observed: ClaimObservation) -> Condition | None:
    pod = home(observed.claim, observed.view)
    if pod is None:
        return None
    return additions_condition(context.additions.to(observed.objects[pod.name], observed.request.spec.additions))


def _condition(status: Json, kind: str) -> Json | None:
    return next((entry for entry in status.get("conditions") or () if entry["type"] == kind), None)


def _write(context: ClaimContext, status: Json) -> None:
    about, run = (context.namespace, context.name, context.claim.uid), context.run
    record = record_of(status, context.claim.labels.get(CLAIM_SET, ""))
    if not context.services.index.shows(*about, record, run.token, context.bound):
        run.touch([run.key])
    present = {key: value for key, value in status.items() if value is not None}
    if present == context.claim.status:
        return
    context.extend_lease()
    context.update(context.services.claims.set_status(context.claim, status))
    if REQUESTED in context.claim.annotations:
        context.services.answers.tell(context.namespace, context.name, answer_of(context.claim))
