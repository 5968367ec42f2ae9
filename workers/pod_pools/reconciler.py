"""Reconciles one PodPool: does what each pod needs, gives idle pods to claims, and sizes the pool."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Final

import structlog
from pydantic import ValidationError

from berthmaster.jobs.runner_ledger import NotVerified
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.unreadable import UnreadableLedger
from berthmaster.routing import split_key
from berthmaster.spec import length
from domain.outcome import Outcome, Settled, Wait
from domain.pod_pools.new_pods import fingerprint
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.pod_steps import PodStep, PodTimeouts
from domain.pod_pools.schedules import ScheduleView
from domain.spec_errors import spec_problem
from events.workqueue import Snapshot
from workers.kube.errors import translated
from workers.kube.pod_pools import owner_reference
from workers.kube.pool_pods import PoolPods, revision_of
from workers.kube.stale_snapshot import as_it_is
from workers.pod_pools.actions import PodActions
from workers.pod_pools.claimable_pods import ClaimOffers
from workers.pod_pools.deletion import delete_pool
from workers.pod_pools.disruption_budgets import keep_budget
from workers.pod_pools.drains import DrainResult, PodDrains
from workers.pod_pools.observe import (
    PodPoolObservation,
    PodPoolObserver,
    observed_for,
    pending_steps,
    spec_of,
    time_to_next_run,
)
from workers.pod_pools.reclaim import reclaim
from workers.pod_pools.runner_tokens import NoTokens, RunnerTokens, TokenGrant, tokens_of
from workers.pod_pools.scaling import PoolScaler, ScalingResult
from workers.pod_pools.services import PodPoolServices
from workers.pod_pools.side_by_side import side_by_side
from workers.pod_pools.status import PodPoolReporter
from workers.run import Run
from workers.stores.slots.resting import record_resting
from workers.stores.slots.view import pool_sizing, view

log = structlog.get_logger()
WARMING: Final = (PodStep.OPEN, PodStep.REGISTER, PodStep.LIFT)
"""Steps after which a claim may have the pod."""
SHORTEST_WAIT: Final = timedelta(milliseconds=100)
STEPS_AT_A_TIME: Final = 4
"""Steps for each thread, before what they opened is offered."""


class PodPoolReconciler:
    """Callable with a Run whose key is a pod pool's."""

    def __init__(self, services: PodPoolServices) -> None:
        self._services = services

    def __call__(self, run: Run) -> Outcome:
        """Reconcile the pool as it is now, or finish its deletion."""
        with translated(self._services.events, run.key, run.snapshot):
            _, namespace, name = split_key(run.key)
            read = partial(self._services.pools.read, namespace, name)
            reconcile = partial(self._reconcile, run, namespace, name)
            return as_it_is(f"PodPool {namespace}/{name}", run.snapshot, read, reconcile)

    def _reconcile(self, run: Run, namespace: str, name: str, pool: Snapshot | None) -> Outcome:
        if pool is None or pool.gone or pool.body["deleting"]:
            return delete_pool(self._services, run, namespace, name)
        self._services.names.add(f"{namespace}/{name}")
        return PodPoolRun(self._services, run, namespace, pool).outcome()


class PodPoolRun:
    """One run on one version of one pool."""

    def __init__(self, services: PodPoolServices, run: Run, namespace: str, pool: Snapshot) -> None:
        self._services, self._run, self._namespace, self._pool = services, run, namespace, pool
        self._name: str = pool.body["name"]
        self._ledger: SlotLedger = services.ledger(f"{namespace}/{self._name}")
        self._pods = PoolPods(services.kube, namespace, self._name, owner_reference(pool))
        spec = pool.uid, int(pool.body["generation"])
        self._observer = PodPoolObserver(services, run, self._ledger, self._pods, spec)
        self._report = PodPoolReporter(services, run, self._ledger, namespace, pool)

    def outcome(self) -> Outcome:
        """Reconcile the pool, unless its spec is invalid or its many pods were listed just now."""
        try:
            spec = spec_of(self._pool.body)
        except ValidationError as error:
            problem = spec_problem(error)
            log.warning("pod_pool_invalid", pool=self._ledger.pool, reason=problem)
            self._report.invalid(problem)
            return Settled()
        try:
            if not self._observer.recall() and (remaining := time_to_next_run(self._ledger)):
                return Wait(remaining, "the pool's many pods were listed just now")
            return self._reconcile(spec)
        except UnreadableLedger as error:
            self._report.event("LedgerUnreadable", str(error), str(error), warning=True)
            raise
        finally:
            self._observer.remember()

    def _reconcile(self, spec: PodPoolSpec) -> Outcome:
        """The order is a rule: nothing that is done for a pod comes between a claim and a warm pod."""
        services, run, ledger, revision = self._services, self._run, self._ledger, revision_of(spec)

        # 1. Observe. Waiting claims are read before the pods: a claim that has a pod by now is not waiting.
        mark, waiting = ledger.verification(), services.waiting.all(self._namespace)
        observed = self._observer.observe()

        # 2. Restore what a new Redis lacks: the runners' user, then the reports that the ledger waits for.
        tokens = tokens_of(services, run, ledger, self._pool, spec)
        grant = tokens.verify(observed.labelled)
        ledger.begin([member.uid for member in observed.members if member.owes_report], mark)
        actions = self._actions(spec)
        if actions.account_for_missing(observed):
            observed = self._observer.observe_cached()

        # 3. Serve claims: offer warm pods, and create those that are missing. From here on older runs are refused.
        scaler = PoolScaler(services, run, ledger, self._pods, spec, spec.schedules_at(observed.now))
        offers = ClaimOffers(services, run, ledger, revision, spec.protect_while_busy, waiting)
        offered, (new_pods, refilled) = observed, self._serve_claims(scaler, offers, tokens, grant, observed)

        # 4. Do for each pod what it needs: decided by domain.pod_pools.pod_steps and domain.claims.draining.
        current = fingerprint(revision, grant.name)
        wanted = None if scaler.schedules.frozen else current
        observed = self._act_on_pods(actions, observed, wanted, offers, token_known=not grant.problem)
        if refilled:
            observed = self._observer.observe_cached()
        drains = PodDrains(services, run, ledger, self._pods, spec, current).advance(observed)
        observed = self._observer.observe_cached() if drains.changed else observed

        # 5. Offer what has become warm, and size the pool: decided by domain.pod_pools.decision.
        size = scaler.begin(observed, drains.reused)
        if observed is not offered:
            offers.offer(observed)
        result = scaler.scale(observed, size, new_pods, offers.count(observed), refilled)

        # 6. Keep others from evicting pods with work, and tell people.
        keep_budget(services, run, ledger, self._pool, spec.protect_while_busy, self._report.event)
        self._report.publish(result)
        return self._next_run(scaler.schedules, drains)

    def _next_run(self, schedules: ScheduleView, drains: DrainResult) -> Outcome:
        """When the next drain is due, or a schedule begins or ends. Changes of pods, claims and jobs come sooner."""
        waits = [Wait(drains.wait, "pods drain")] if drains.wait else []
        if schedules.change:
            left = max(schedules.change - self._services.kube.clock.now(), SHORTEST_WAIT)
            waits.append(Wait(left, "a schedule begins or ends"))
        return min(waits, key=lambda wait: wait.for_, default=Settled())

    def _serve_claims(
        self,
        scaler: PoolScaler,
        offers: ClaimOffers,
        tokens: RunnerTokens | NoTokens,
        grant: TokenGrant,
        observed: PodPoolObservation,
    ) -> tuple[TokenGrant, ScalingResult | None]:
        """Return what new pods get, and what was created. Until all pods have reported, nobody knows which are free."""
        with suppress(NotVerified):
            size = scaler.begin(observed)
            offers.offer(observed)
            if self._observer.listed or not grant.token:  # else it might forget a token that a pod has
                grant = self._rotate(tokens, grant, observed)
            return grant, scaler.refill(observed, size, grant, offers.count(observed))
        return grant, None

    def _actions(self, spec: PodPoolSpec) -> PodActions:
        timeouts = PodTimeouts(length(spec.ready_timeout), self._services.silence, rest=spec.rest)
        return PodActions(self._services, self._run, self._ledger, self._pods, timeouts, self._report.event)

    def _act_on_pods(
        self,
        actions: PodActions,
        observed: PodPoolObservation,
        current: str | None,
        offers: ClaimOffers,
        *,
        token_known: bool,
    ) -> PodPoolObservation:
        """Take back pods whose claim is gone, account for pods that are gone, do the step of each, and observe again.

        Pods that become warm come first, and are offered at once. A claim that begins to wait ends the work for the
        others: the next run serves it first, and goes on with them. `current`: the fingerprint of new pods, None while
        no pod is replaced for another one.
        """
        if reclaim(self._services, self._run, self._namespace, self._pods, observed, self._observer.noticed):
            observed = self._observer.observe_cached()
        actions.account_for_gone(observed)
        resting = {member.uid for member in observed.members if member.rests}
        record_resting(self._ledger, observed.slots.resting.keys(), resting)
        since_start = observed_for(self._ledger, self._services.silence, record=True)
        since_request, timeouts = pool_sizing(self._ledger).asked, actions.timeouts
        steps = list(pending_steps(observed, current, timeouts, since_request, since_start, token_known=token_known))
        steps.sort(key=lambda pending: pending[1] not in WARMING)
        count = STEPS_AT_A_TIME * self._services.pod_writes
        for batch in (steps[start : start + count] for start in range(0, len(steps), count)):
            calls = (partial(actions.apply, step, observed.objects[member.uid], member) for member, step in batch)
            opened = [pod for pod in side_by_side(self._services.pod_writes, calls) if pod]
            if not offers.add(opened):
                self._run.touch([self._run.key])
                break
        return self._observer.observe_cached() if steps or observed.gone else observed

    def _rotate(self, tokens: RunnerTokens | NoTokens, grant: TokenGrant, observed: PodPoolObservation) -> TokenGrant:
        rotated = tokens.rotate(grant, observed.labelled, observed.now, self._is_idle)
        if grant.name and rotated.name != grant.name:
            self._report.event("TokenRotated", f"pods with {grant.name} are replaced when they are idle")
        return rotated

    def _is_idle(self) -> bool:
        return not any(pod.busy for pod in view(self._ledger).pods)
