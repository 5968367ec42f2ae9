"""Reconciles one PodClaimSet: one step after the other, each from a new look, until there is nothing to do.

A set has no finalizer: its claims are its dependents, and Kubernetes deletes them after it. So its end needs no run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

import structlog
from pydantic import ValidationError

from berthmaster.errors import TransientError
from berthmaster.routing import split_key
from domain.claim_sets.decision import SetAction, SetStep, set_step
from domain.claim_sets.pod_claim_set import PodClaimSetSpec
from domain.claim_sets.reasons import some, why
from domain.claim_sets.status import invalid_set_status, is_complete, missing, set_status
from domain.kubernetes.objects import KubeObject
from domain.outcome import Outcome, Settled, Wait
from domain.spec_errors import spec_problem
from events.kube.api import Conflict, Denied, Invalid, NotFound, shown
from workers.claim_sets.observe import Look, looked, record_of
from workers.claim_sets.services import ClaimSetServices
from workers.kube.errors import translated
from workers.kube.our_kinds import as_snapshot
from workers.kube.pod_claim_sets import SetClaims
from workers.run import Run

log = structlog.get_logger()
Json = dict[str, Any]
LOOKS: Final = 20
"""A run that has so much to do gives its worker to others meanwhile."""
CHANGED: Final = timedelta(milliseconds=250)
LOOK_AGAIN: Final = timedelta(seconds=30)


class PodClaimSetsReconciler:
    """Callable with a Run whose key is a set's."""

    def __init__(self, services: ClaimSetServices) -> None:
        self._services = services

    def __call__(self, run: Run) -> Outcome:
        _, namespace, name = split_key(run.key)
        with translated(self._services.events, run.key, run.snapshot):
            try:
                return ClaimSetRun(self._services, run, namespace, name).outcome()
            except (Conflict, NotFound) as error:
                raise TransientError(
                    f"PodClaimSet {namespace}/{name} has changed meanwhile: {error}", CHANGED
                ) from error


class ClaimSetRun:
    def __init__(self, services: ClaimSetServices, run: Run, namespace: str, name: str) -> None:
        self._services, self._run, self._namespace, self._name = services, run, namespace, name
        self._taken, self._problem = frozenset[str](), ""
        self._doers: dict[SetAction, Callable[[Look, SetStep], bool]] = {
            SetAction.CREATE: self._create,
            SetAction.RECORD: self._record,
            SetAction.REMOVE: self._remove,
            SetAction.SPARE: self._spare,
        }

    def outcome(self) -> Outcome:
        if soon := self._services.pace.too_soon(self._namespace, self._name):
            return Wait(soon, "a set that is large is not looked at all the time")
        for looks in range(LOOKS):
            claim_set = self._services.sets.read(self._namespace, self._name)
            if claim_set is None or claim_set.deleting:
                return self._leave()
            try:
                spec = PodClaimSetSpec.model_validate(claim_set.spec)
            except ValidationError as error:
                return self._invalid(claim_set, spec_problem(error))
            began = time.monotonic()
            look = self._look(claim_set, spec)
            step = set_step(look.view)
            if step.action is not SetAction.REST and self._done(look, step):
                continue
            if not looks:  # else it had something to do, and may have more
                self._services.pace.looked(self._namespace, self._name, timedelta(seconds=time.monotonic() - began))
            return self._show(look, step)
        return Wait(CHANGED, "there is more to do")

    def _leave(self) -> Outcome:
        if self._run.snapshot:
            self._services.names.drop(self._namespace, self._run.snapshot.uid)
        return Settled()

    def _invalid(self, claim_set: KubeObject, problem: str) -> Outcome:
        """Its claims stay as they are."""
        log.warning("claim_set_invalid", set=self._name, reason=problem)
        self._write(claim_set, invalid_set_status(problem, claim_set.generation))
        return Settled()

    def _look(self, claim_set: KubeObject, spec: PodClaimSetSpec) -> Look:
        """The index is written before the pods are read: no change of one falls between."""
        self._services.names.put(self._namespace, claim_set.uid, self._name)
        self._run.keep(self._services.call_time)
        return looked(claim_set, spec, self._claims(claim_set), self._taken)

    def _claims(self, claim_set: KubeObject) -> SetClaims:
        return SetClaims(self._services.kube, claim_set)

    def _done(self, look: Look, step: SetStep) -> bool:
        """False: nobody but a person can mend it. A look that came too late is no failure, it is taken again."""
        log.info("claim_set_step", set=self._name, step=step.action, claims=step.names)
        try:
            return self._doers[step.action](look, step)
        except (Denied, Invalid) as error:
            shown(error)
            self._problem = f"Kubernetes refuses to {step.action} {', '.join(step.names)}: {error}"
            log.warning("claim_set_refused", set=self._name, reason=self._problem)
            return False

    def _create(self, look: Look, step: SetStep) -> bool:
        """A name that is there ends the step: by whom it was made, the next look says."""
        claims, made = self._claims(look.claim_set), dict[str, str]()
        for name in step.names:
            self._run.keep(self._services.call_time)
            claim = claims.create(name, look.spec.template)
            if claim is None:
                self._taken |= {name}
                break
            made[name] = claim.uid
        self._tell(look, step, "makes", made)
        return True

    def _record(self, look: Look, step: SetStep) -> bool:
        self._run.keep(self._services.call_time)
        written = self._services.sets.set_status(look.claim_set, {"removing": record_of(look, step.names)})
        self._run.saw(as_snapshot(written))
        return True

    def _remove(self, look: Look, step: SetStep) -> bool:
        claims, gone = self._claims(look.claim_set), dict[str, str]()
        for name in step.names:
            self._run.keep(self._services.call_time)
            if not claims.delete(look.objects[name]):
                break
            log.info("claim_removed", set=self._name, claim=name)
            gone[name] = look.objects[name].uid
        self._tell(look, step, "removes", gone)
        return True

    def _spare(self, look: Look, step: SetStep) -> bool:
        claims = self._claims(look.claim_set)
        for name in step.names:
            self._run.keep(self._services.call_time)
            claims.spare(look.objects[name])
        return True

    def _show(self, look: Look, step: SetStep) -> Outcome:
        generation = look.claim_set.generation
        status = set_status(look.view, look.spec.selector, generation, self._problem)
        if step.action is not SetAction.REST:
            del status["removing"]  # it may be alive
        version = self._write(look.claim_set, status)
        if version and is_complete(status) and not is_complete(look.claim_set.status):
            self._event(look.claim_set, "Complete", why(look.view, step).message, version)
        waits = self._problem or missing(look.view)
        return Wait(LOOK_AGAIN, waits) if waits else Settled()

    def _write(self, claim_set: KubeObject, status: Json) -> str | None:
        """The version that it has by that, None if there was nothing to write."""
        shown = claim_set.status
        if all(shown.get(key) == value for key, value in status.items()):
            return None
        self._run.keep(self._services.call_time)
        written = self._services.sets.set_status(claim_set, status)
        self._run.saw(as_snapshot(written))
        return written.resource_version

    def _tell(self, look: Look, step: SetStep, does: str, claims: Mapping[str, str]) -> None:
        """`claims`: name -> UID, of those to which it was done, by this run alone."""
        if claims:
            reason = why(look.view, step)
            self._event(look.claim_set, reason.word, f"{does} {some(claims)}: {reason.message}", min(claims.values()))

    def _event(self, claim_set: KubeObject, reason: str, words: str, once: str) -> None:
        log.info("claim_set_changed", namespace=self._namespace, set=self._name, reason=reason, words=words)
        about = (self._namespace, self._name, claim_set.uid)
        self._services.events.pod_claim_set(*about, reason, words, once)
