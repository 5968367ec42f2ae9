"""Reconcile one PodClaimSet: one step after the other, each from a new observation, until nothing is left to do.

A set has no finalizer: its claims are its dependents, which Kubernetes deletes after it.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Final, assert_never

import structlog
from pydantic import ValidationError

from berthmaster.errors import TransientError
from berthmaster.routing import split_key
from domain.claim_sets.decision import SetAction, SetStep, set_step
from domain.claim_sets.pod_claim_set import PodClaimSetSpec
from domain.claim_sets.status import missing
from domain.kubernetes.objects import KubeObject
from domain.outcome import Outcome, Settled, Wait
from domain.spec_errors import spec_problem
from events.kube.api import Conflict, Denied, Invalid, NotFound, shown
from workers.claim_sets.actions import ClaimSetActions
from workers.claim_sets.context import ClaimSetContext
from workers.claim_sets.observe import ClaimSetObservation, observe
from workers.claim_sets.services import ClaimSetServices
from workers.claim_sets.status import publish_invalid, publish_status
from workers.kube.errors import translated
from workers.kube.pod_claim_sets import SetClaims
from workers.run import Run

log = structlog.get_logger()
MAX_STEPS: Final = 20
"""A run that has more to do than this gives its worker to other keys meanwhile."""
RETRY_CHANGED: Final = timedelta(milliseconds=250)
RETRY_INCOMPLETE: Final = timedelta(seconds=30)


class PodClaimSetReconciler:
    """Reconciles the claim set that a run's key names."""

    def __init__(self, services: ClaimSetServices) -> None:
        self._services = services

    def __call__(self, run: Run) -> Outcome:
        """Reconcile the set. Raises TransientError and TerminalError."""
        _, namespace, name = split_key(run.key)
        with translated(self._services.events, run.key, run.snapshot):
            try:
                return ClaimSetRun(self._services, run, namespace, name).outcome()
            except (Conflict, NotFound) as error:
                message = f"PodClaimSet {namespace}/{name} changed since it was read: {error}"
                raise TransientError(message, RETRY_CHANGED) from error


class ClaimSetRun:
    """One run of one claim set."""

    def __init__(self, services: ClaimSetServices, run: Run, namespace: str, name: str) -> None:
        self._services, self._run, self._namespace, self._name = services, run, namespace, name
        self._context = ClaimSetContext(services, run, namespace, name)
        self._actions = ClaimSetActions(self._context)
        self._problem: str | None = None

    def outcome(self) -> Outcome:
        """Take steps until nothing is left to do now."""
        if soon := self._services.pace.too_soon(self._namespace, self._name):
            return Wait(soon, "a large set is not observed all the time")
        for steps in range(MAX_STEPS):
            # 1. observe
            claim_set = self._services.sets.read(self._namespace, self._name)
            if claim_set is None or claim_set.deleting:
                return self._forget()
            try:
                spec = PodClaimSetSpec.model_validate(claim_set.spec)
            except ValidationError as error:
                publish_invalid(self._context, claim_set, spec_problem(error))
                return Settled()
            began = time.monotonic()
            observed = self._observe(claim_set, spec)
            # 2. decide
            step = set_step(observed.view)
            # 3. act
            if self._act(step, observed):
                continue
            # 4. publish the status when there is nothing more to do
            if not steps:  # a run that took a step may have more to do soon, so it is not slowed down
                self._services.pace.looked(self._namespace, self._name, timedelta(seconds=time.monotonic() - began))
            publish_status(self._context, observed, step, self._problem)
            waits = self._problem or missing(observed.view)
            return Wait(RETRY_INCOMPLETE, waits) if waits else Settled()
        return Wait(RETRY_CHANGED, "there is more to do")

    def _forget(self) -> Outcome:
        if self._run.snapshot:
            self._services.names.drop(self._namespace, self._run.snapshot.uid)
        return Settled()

    def _observe(self, claim_set: KubeObject, spec: PodClaimSetSpec) -> ClaimSetObservation:
        """Write the index, then read the claims and pods: in this order no change of a pod is missed."""
        self._services.names.put(self._namespace, claim_set.uid, self._name)
        self._context.extend_lease()
        return observe(claim_set, spec, SetClaims(self._services.kube, claim_set), self._actions.taken)

    def _act(self, step: SetStep, observed: ClaimSetObservation) -> bool:
        """Take one step. False: nothing is left to do, or Kubernetes refuses the step and a person must help."""
        if step.action is SetAction.REST:
            return False
        log.info("claim_set_step", set=self._name, step=step.action, claims=step.names)
        try:
            self._apply(step, observed)
        except (Denied, Invalid) as error:
            shown(error)
            self._problem = f"Kubernetes refuses to {step.action} {', '.join(step.names)}: {error}"
            log.warning("claim_set_refused", set=self._name, reason=self._problem)
            return False
        return True

    def _apply(self, step: SetStep, observed: ClaimSetObservation) -> None:
        match step.action:
            case SetAction.CREATE:
                self._actions.create(step, observed)
            case SetAction.RECORD:
                self._actions.record(step, observed)
            case SetAction.REMOVE:
                self._actions.remove(step, observed)
            case SetAction.SPARE:
                self._actions.spare(step, observed)
            case SetAction.REST:
                pass
            case _:
                assert_never(step.action)
