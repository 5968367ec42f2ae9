"""Reconcile one PodClaim: one step after the other, each from a new observation, until nothing is left to do.

Each step is one write in the versions that were read (see domain.claims.decision). So a run that is late, runs twice
or is killed anywhere leaves a state from which the next run continues.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Final, Literal, assert_never

from pydantic import ValidationError

from berthmaster.errors import TransientError
from berthmaster.routing import split_key
from domain.claims.decision import Action, Step, next_step
from domain.claims.labels import stamp
from domain.claims.lifetime import Lifetime
from domain.claims.status import POD_LOST, Reason, home
from domain.kubernetes.objects import KubeObject, Pod
from domain.outcome import Outcome, Settled, Wait
from domain.spec_errors import spec_problem
from events.kube.api import Conflict, Denied, Invalid, KubeError, NotFound, refused_so_far
from workers.claims.actions import ClaimActions, with_finalizer
from workers.claims.bind import PodBinder
from workers.claims.context import ClaimContext
from workers.claims.observe import ClaimObservation, ClaimObserver, ClaimRequest, lifetime_of, request_of
from workers.claims.pod_additions import PodAdditions
from workers.claims.pool_nomination import PoolNominator
from workers.claims.services import ClaimServices
from workers.claims.status import publish_invalid, publish_refused, publish_status, report_wait
from workers.kube.errors import translated
from workers.run import Run
from workers.stores.claims.waiting import WaitingClaim

KeepOrGiveBack = Literal[Action.ADOPT, Action.GIVE_BACK, Action.DISCARD]
Move = Literal[Action.TAKE_TARGET, Action.MARK, Action.COMPLETE]
RenewOrEnd = Literal[Action.RENEW, Action.EXPIRE, Action.FINISH]
MAX_STEPS: Final = 12
"""No claim needs as many steps in one run, unless somebody else changes it again and again: then it is tried later."""


class PodClaimReconciler:
    """Reconciles the claim that a run's key names."""

    def __init__(self, services: ClaimServices) -> None:
        self._services = services

    def __call__(self, run: Run) -> Outcome:
        """Reconcile the claim. Raises TransientError and TerminalError."""
        with translated(self._services.events, run.key, run.snapshot):
            _, namespace, name = split_key(run.key)
            claim = with_finalizer(self._services, run, namespace, name) or self._services.claims.read(namespace, name)
            if claim is None:
                self._services.index.forget(namespace, name)
                return Settled()
            claim_run = ClaimRun(self._services, run, namespace, name, claim)
            try:
                return claim_run.outcome()
            except (Conflict, NotFound) as error:
                raise TransientError(f"PodClaim {namespace}/{name} changed since it was read: {error}") from error
            except (Denied, Invalid) as error:  # may concern a pod, which others write too: so a later try may succeed
                claim_run.publish_refused()
                raise TransientError(f"PodClaim {namespace}/{name}: Kubernetes refuses it: {error}") from error


class ClaimRun:
    """One run of one claim."""

    def __init__(self, services: ClaimServices, run: Run, namespace: str, name: str, claim: KubeObject) -> None:
        self._services, self._run, self._namespace, self._name = services, run, namespace, name
        self._context = ClaimContext(services, run, namespace, name, claim, PodAdditions(services, namespace))
        self._observer, self._actions = ClaimObserver(services, run, namespace, name), ClaimActions(self._context)
        self._bound: Pod | None = None

    def outcome(self) -> Outcome:
        """Take steps until nothing is left to do now."""
        observed: ClaimObservation | None = None
        for _ in range(MAX_STEPS):
            # 1. observe
            try:
                request = request_of(self._context.claim)
            except ValidationError as error:
                if (outcome := self._invalid(spec_problem(error))) is not None:
                    return outcome
                continue
            self._actions.add_finalizer(request)
            observed = self._observe(request, observed)
            # 2. decide
            step = next_step(request.claim, observed.view)
            # 3. act, 4. publish the status when there is nothing more to do
            if (outcome := self._act(step, observed)) is not None:
                return self._until_expiry(outcome, request.lifetime)
        raise TransientError(f"PodClaim {self._namespace}/{self._name} did not settle within {MAX_STEPS} steps")

    def _invalid(self, problem: str) -> Outcome | None:
        """Say that the spec is invalid, or end the claim when its time has passed. None: another step may follow."""
        lifetime, now = lifetime_of(self._context.claim), self._services.now()
        if lifetime.renewed(now):
            self._actions.renew(lifetime)
            return None
        if lifetime.expired(now):
            return None if self._actions.expire(lifetime) else Settled()
        publish_invalid(self._context, problem)
        return self._until_expiry(Settled(), lifetime)

    def _observe(self, request: ClaimRequest, before: ClaimObservation | None) -> ClaimObservation:
        bound, self._bound = self._bound, None
        self._context.bound = bound
        if bound and before:
            return self._observer.with_bound(request, bound, before)
        return self._observer.observe(request, self._actions.refused)

    def publish_refused(self) -> None:
        """Say in the status what Kubernetes refuses. It may refuse the status as well; an Event says it in any case."""
        with suppress(KubeError):
            for refusal in refused_so_far()[-1:]:
                publish_refused(self._context, str(refusal))

    def _act(self, step: Step, observed: ClaimObservation) -> Outcome | None:
        """Take one step. None: it is done, and another may follow."""
        binder = PodBinder(
            self._services, self._run, self._namespace, self._name, observed.request, self._context.additions
        )
        match step.action:
            case Action.TAKE:
                self._bound = self._actions.take(observed, binder)
                return None if self._bound else self._wait_for_pod(observed, binder)
            case Action.CLEAR:
                self._actions.clear(observed.claim)
            case Action.ADOPT | Action.GIVE_BACK | Action.DISCARD:
                self._keep_or_give_back(step.action, step.target, observed, binder)
            case Action.TAKE_TARGET | Action.MARK | Action.COMPLETE:
                self._move(step.action, step.target, observed, binder)
            case Action.RENEW | Action.EXPIRE | Action.FINISH:
                return self._renew_or_end(step.action, observed.request)
            case Action.WAIT:
                wait = self._services.missing_grace - observed.view.missing
                return Wait(wait, f"pod {observed.claim.pod} is missing")
            case Action.REST:
                return self._rest(observed, binder)
            case _:
                assert_never(step.action)
        return None

    def _renew_or_end(self, action: RenewOrEnd, request: ClaimRequest) -> Outcome | None:
        match action:
            case Action.RENEW:
                self._actions.renew(request.lifetime)
            case Action.EXPIRE:
                return None if self._actions.expire(request.lifetime) else Settled()
            case Action.FINISH:
                self._actions.finish(request.claim.uid)
                return Settled()
            case _:
                assert_never(action)
        return None

    def _until_expiry(self, outcome: Outcome, lifetime: Lifetime) -> Outcome:
        """Let the claim run again when it expires, if no earlier."""
        if lifetime.expiry is None or self._context.claim.deleting:
            return outcome
        left = max(lifetime.expiry - self._services.now(), timedelta(0))
        if isinstance(outcome, Wait) and outcome.for_ <= left:
            return outcome
        return Wait(left, f"it expires at {stamp(lifetime.expiry)}", outcome.tries if isinstance(outcome, Wait) else 0)

    def _keep_or_give_back(
        self, action: KeepOrGiveBack, pod: str, observed: ClaimObservation, binder: PodBinder
    ) -> None:
        match action:
            case Action.ADOPT:
                self._actions.adopt(pod, observed, binder)
            case Action.GIVE_BACK:
                self._actions.give_back(pod, observed)
            case Action.DISCARD:
                self._actions.discard(pod, observed)
            case _:
                assert_never(action)

    def _move(self, action: Move, target: str, observed: ClaimObservation, binder: PodBinder) -> None:
        match action:
            case Action.TAKE_TARGET:
                self._actions.take_target(target, observed, binder)
            case Action.MARK:
                self._actions.mark(target, observed, binder)
            case Action.COMPLETE:
                self._actions.complete(target, observed)
            case _:
                assert_never(action)

    def _wait_for_pod(self, observed: ClaimObservation, binder: PodBinder) -> Outcome:
        """Nominate a pool that grows for a claim without a pod, and say what the claim waits for."""
        claim = observed.claim
        if binder.refused:  # no other pod would help, so no pool must grow
            self._services.waiting.drop(self._namespace, self._name)
            return self._publish_wait(observed, Reason("PodRefused", binder.refused), None)
        nominator = PoolNominator(self._services, self._namespace, binder.pools())
        nomination = nominator.nominate(claim.request)
        since = self._context.claim.creation_timestamp
        nominator.enqueue(WaitingClaim(self._name, claim.uid, since, nomination.pool, claim.request))
        reason = nomination.reason
        if nomination.pool in binder.unverified:
            reason = Reason("PoolNotVerified", f"which pods of pool {nomination.pool} are free is not known yet")
        return self._publish_wait(observed, reason, nomination.pool)

    def _rest(self, observed: ClaimObservation, binder: PodBinder) -> Outcome:
        """Keep the labels of the claim's pod up to date, and publish the status."""
        claim = observed.claim
        if observed.waits:
            self._services.waiting.drop(self._namespace, self._name)
        self._actions.apply_labels(observed, binder)
        pod = home(claim, observed.view)
        revision = self._observer.revision(pod.pool) if pod else None
        self._publish(observed, Reason(POD_LOST, "it has lost its pod, and whenLost is Stay"), revision)
        if claim.moves:
            return Wait(self._services.retry_longest, f"pod {claim.source} drains")
        return Settled()

    def _publish_wait(self, observed: ClaimObservation, reason: Reason, pool: str | None) -> Wait:
        """Publish what the claim waits for: first the event, as the status says that there is one."""
        report_wait(self._context, reason, pool)
        self._publish(observed, reason)
        return self._retry(reason.message)

    def _publish(self, observed: ClaimObservation, otherwise: Reason, revision: str | None = None) -> None:
        publish_status(self._context, observed, self._actions.move_end, revision, otherwise)

    def _retry(self, why: str) -> Wait:
        """Wait longer each time. A pod that becomes free wakes the claim earlier."""
        first, longest = self._services.retry, self._services.retry_longest
        return Wait(min(longest, first * 2 ** min(self._run.tries, 20)), why, self._run.tries + 1)
