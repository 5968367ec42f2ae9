"""Write the status of a claim set when it has changed, and publish its Events."""

from __future__ import annotations

from typing import Any

import structlog

from domain.claim_sets.decision import SetAction, SetStep
from domain.claim_sets.reasons import why
from domain.claim_sets.status import invalid_set_status, is_complete, set_status
from domain.kubernetes.objects import KubeObject
from workers.claim_sets.context import ClaimSetContext
from workers.claim_sets.observe import ClaimSetObservation

Json = dict[str, Any]
log = structlog.get_logger()


def publish_status(context: ClaimSetContext, observed: ClaimSetObservation, step: SetStep, problem: str | None) -> None:
    """Publish the status of a set whose spec is valid. `problem` says why Kubernetes refuses the step, None if not."""
    claim_set = observed.claim_set
    status = set_status(observed.view, observed.spec.selector, claim_set.generation, problem)
    if step.action is not SetAction.REST:
        del status["removing"]  # the record may still be carried out
    version = _write(context, claim_set, status)
    if version and is_complete(status) and not is_complete(claim_set.status):
        context.report(claim_set, "Complete", why(observed.view, step).message, version)


def publish_invalid(context: ClaimSetContext, claim_set: KubeObject, problem: str) -> None:
    """Say that the spec is invalid. The set's claims stay as they are."""
    log.warning("claim_set_invalid", set=context.name, reason=problem)
    _write(context, claim_set, invalid_set_status(problem, claim_set.generation))


def _write(context: ClaimSetContext, claim_set: KubeObject, status: Json) -> str | None:
    """Write what differs from the last status. Returns the set's new version, None if nothing differs."""
    last = claim_set.status
    if all(last.get(key) == value for key, value in status.items()):
        return None
    return context.set_status(claim_set, status).resource_version
