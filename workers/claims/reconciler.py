"""Reconcile one PodClaim: one step after the other, each from a new observation, until nothing is left to do.

Each step is one write in the versions that were read (see domain.claims.decision). So a run that is late, runs twice
or is killed anywhere leaves a state from which the next run continues.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, Literal, assert_never

from pydantic import ValidationError

from berthmaster.errors import TransientError
from berthmaster.routing import split_key
from domain.claims.decision import Action, Step, next_step
from domain.claims.status import Reason, home
from domain.kubernetes.objects import KubeObject
from domain.outcome import Outcome, Settled, Wait
from domain.spec_errors import spec_problem
from events.kube.api import Conflict, Denied, Invalid, KubeError, NotFound, refused_so_far
from workers.claims.actions import ClaimActions
from workers.claims.bind import PodBinder
from workers.claims.context import ClaimContext
from workers.claims.observe import ClaimObservation, ClaimObserver, request_of
from workers.claims.pool_nomination import PoolNominator
from workers.claims.services import ClaimServices
from workers.claims.status import publish_invalid, publish_refused, publish_status
from workers.kube.errors import translated
from workers.run import Run

KeepOrRelease = Literal[Action.ADOPT, Action.GIVE_BACK, Action.DISCARD, Action.CLEAR]
Move = Literal[Action.TAKE_TARGET, Action.MARK, Action.COMPLETE]
MAX_STEPS: Final = 12
"""No claim needs as many at a time. One that does is changed by somebody else again and again: it comes back later."""


class PodClaimReconciler:
    """Reconciles the claim that a run's key names."""

    def __init__(self, services: ClaimServices) -> None:
        self._services = services

    def __call__(self, run: Run) -> Outcome:
        """Reconcile the claim. Raises TransientError and TerminalError."""
        with translated(self._services.events, run.key, run.snapshot):
            _, namespace, name = split_key(run.key)
            claim = self._services.claims.read(namespace, name)
            if claim is None:
                self._services.index.forget(namespace, name)
                return Settled()
            claim_run = ClaimRun(self._services, run, namespace, name, claim)
            try:
                return claim_run.outcome()
            except (Conflict, NotFound) as error:
                raise TransientError(f"PodClaim {namespace}/{name} changed since it was read: {error}") from error
            except (Denied, Invalid) as error:  # of a pod, which others write too: so the claim is tried again
                claim_run.publish_refused()
                raise TransientError(f"PodClaim {namespace}/{name}: Kubernetes refuses it: {error}") from error


class ClaimRun:
    """One run of one claim."""

    def __init__(self, services: ClaimServices, run: Run, namespace: str, name: str, claim: KubeObject) -> None:
        self._services, self._run, self._namespace, self._name = services, run, namespace, name
        self._context = ClaimContext(services, run, namespace, name, claim)
        self._observer, self._actions = ClaimObserver(services, namespace, name), ClaimActions(self._context)

    def outcome(self) -> Outcome:
        """Take steps until nothing is left to do now."""
        for _ in range(MAX_STEPS):
            # 1. observe
            try:
                request = request_of(self._context.claim)
            except ValidationError as error:
                publish_invalid(self._context, spec_problem(error))
                return Settled()
            self._actions.add_finalizer(request)
            observed = self._observer.observe(request, self._actions.refused)
            # 2. decide
            step = next_step(request.claim, observed.view)
            # 3. act, 4. publish the status when there is nothing more to do
            if (outcome := self._act(step, observed)) is not None:
                return outcome
        raise TransientError(f"PodClaim {self._namespace}/{self._name} did not settle within {MAX_STEPS} steps")

    def publish_refused(self) -> None:
        """Say in the status what Kubernetes refuses, if it accepts that. An Event says it in any case."""
        with suppress(KubeError):
            for refusal in refused_so_far()[-1:]:
                publish_refused(self._context, str(refusal))

    def _act(self, step: Step, observed: ClaimObservation) -> Outcome | None:
        """Take one step. None: it is done, and another may follow."""
        binder = PodBinder(self._services, self._run, self._namespace, self._name, observed.request)
        match step.action:
            case Action.TAKE:
                return None if self._actions.take(observed, binder) else self._wait_for_pod(observed, binder)
            case Action.ADOPT | Action.GIVE_BACK | Action.DISCARD | Action.CLEAR:
                self._keep_or_release(step.action, step.pod, observed, binder)
            case Action.TAKE_TARGET | Action.MARK | Action.COMPLETE:
                self._move(step.action, step.pod, observed, binder)
            case Action.FINISH:
                self._actions.finish(observed.claim.uid)
                return Settled()
            case Action.WAIT:
                wait = self._services.missing_grace - observed.view.missing
                return Wait(wait, f"pod {observed.claim.pod} is missing")
            case Action.REST:
                return self._rest(observed, binder)
            case _:
                assert_never(step.action)
        return None

    def _keep_or_release(self, action: KeepOrRelease, pod: str, observed: ClaimObservation, binder: PodBinder) -> None:
        match action:
            case Action.ADOPT:
                self._actions.adopt(pod, observed, binder)
            case Action.GIVE_BACK:
                self._actions.give_back(pod, observed)
            case Action.DISCARD:
                self._actions.discard(pod, observed)
            case Action.CLEAR:
                self._actions.clear(observed.claim)
            case _:
                assert_never(action)

    def _move(self, action: Move, target: str, observed: ClaimObservation, binder: PodBinder) -> None:
        match action:
            case Action.TAKE_TARGET:
                self._actions.take_target(target, observed, binder)
            case Action.MARK:
                self._actions.mark(target, observed, binder)
            case Action.COMPLETE:
                self._actions.complete(observed)
            case _:
                assert_never(action)

    def _wait_for_pod(self, observed: ClaimObservation, binder: PodBinder) -> Outcome:
        """Nominate a pool that grows for a claim without a pod, and say what the claim waits for."""
        claim = observed.claim
        if binder.refused:  # no other pod would help, so no pool must grow
            self._services.waiting.drop(self._namespace, self._name)
            self._publish(observed, Reason("PodRefused", binder.refused))
            return self._retry(binder.refused)
        nominator = PoolNominator(self._services, self._namespace, binder.pools())
        nomination = nominator.nominate(claim)
        nominator.enqueue(claim, self._name, self._context.claim.creation_timestamp, nomination.pool)
        reason = nomination.reason
        if nomination.pool in binder.unverified:
            reason = Reason("PoolNotVerified", f"which pods of pool {nomination.pool} are free is not known yet")
        self._publish(observed, reason)
        return self._retry(reason.message)

    def _rest(self, observed: ClaimObservation, binder: PodBinder) -> Outcome:
        """Keep the labels of the claim's pod up to date, and publish the status."""
        claim = observed.claim
        self._services.waiting.drop(self._namespace, self._name)
        self._actions.apply_labels(observed, binder)
        pod = home(claim, observed.view)
        revision = self._observer.revision(pod.pool) if pod else ""
        self._publish(observed, Reason("PodLost", "it has lost its pod, and whenLost is Stay"), revision)
        if claim.moves:
            return Wait(self._services.retry_longest, f"pod {claim.source} drains")
        return Settled()

    def _publish(self, observed: ClaimObservation, otherwise: Reason, revision: str = "") -> None:
        publish_status(self._context, observed, self._actions.move_end, revision, otherwise)

    def _retry(self, why: str) -> Wait:
        """Wait longer each time. A pod that becomes free wakes the claim earlier."""
        first, longest = self._services.retry, self._services.retry_longest
        return Wait(min(longest, first * 2 ** min(self._run.tries, 20)), why, self._run.tries + 1)
