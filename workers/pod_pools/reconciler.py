"""Reconciles one PodPool: does what each pod needs, gives idle pods to claims, and sizes the pool."""

from __future__ import annotations

from functools import partial

import structlog
from pydantic import ValidationError

from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.unreadable import UnreadableLedger
from berthmaster.routing import split_key
from berthmaster.spec import length
from domain.outcome import Outcome, Settled, Wait
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.pod_steps import PodTimeouts, fingerprint
from domain.spec_errors import spec_problem
from events.workqueue import Snapshot
from workers.kube.errors import translated
from workers.kube.pod_pools import owner_reference
from workers.kube.pool_pods import PoolPods, revision_of
from workers.kube.stale_snapshot import as_it_is
from workers.pod_pools.actions import PodActions
from workers.pod_pools.claimable_pods import count_waiting, publish_claimable, wake_waiting
from workers.pod_pools.deletion import delete_pool
from workers.pod_pools.drains import PodDrains
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
from workers.pod_pools.scaling import PoolScaler
from workers.pod_pools.services import PodPoolServices
from workers.pod_pools.status import PodPoolReporter
from workers.run import Run
from workers.stores.slots.view import pool_sizing, view

log = structlog.get_logger()


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
        self._observer = PodPoolObserver(services, run, self._ledger, self._pods)
        self._report = PodPoolReporter(services, run, self._ledger, namespace, pool)

    def outcome(self) -> Outcome:
        """Reconcile the pool, unless its spec is invalid or the run comes too soon after a long one."""
        try:
            spec = spec_of(self._pool.body)
        except ValidationError as error:
            problem = spec_problem(error)
            log.warning("pod_pool_invalid", pool=self._ledger.pool, reason=problem)
            self._report.invalid(problem)
            return Settled()
        if remaining := time_to_next_run(self._ledger):
            return Wait(remaining, "the last run was just now, and looked at many pods")
        try:
            outcome = self._reconcile(spec)
        except UnreadableLedger as error:
            self._report.event("LedgerUnreadable", str(error), str(error), warning=True)
            raise
        self._observer.pause_large_pool()
        return outcome

    def _reconcile(self, spec: PodPoolSpec) -> Outcome:
        """The order is a rule: each phase needs what those before it have made sure."""
        services, run, ledger, revision = self._services, self._run, self._ledger, revision_of(spec)

        # 1. Observe. Waiting claims are read before the pods: a claim that has a pod by now is not waiting.
        mark = ledger.verification()
        waiting = services.waiting.all(self._namespace)
        observed = self._observer.observe()

        # 2. Take back the pods of claims that are gone.
        if reclaim(services, run, self._namespace, observed):
            observed = self._observer.observe()

        # 3. Restore what a new Redis lacks: the runners' user, then the reports that the ledger waits for.
        tokens = tokens_of(services, run, ledger, self._pool, spec)
        grant = tokens.verify(observed.labelled)
        ledger.begin([member.uid for member in observed.members if member.owes_report], mark)

        # 4. Do for each pod what it needs: decided by domain.pod_pools.pod_steps.
        observed = self._act_on_pods(observed, spec, grant)

        # 5. Drain the pods that claims gave back.
        drains = PodDrains(services, run, ledger, self._pods, spec, fingerprint(revision, grant.name)).advance(observed)
        if drains.changed:
            observed = self._observer.observe()

        # 6. Give idle pods to claims. From here on older runs are refused.
        scaler = PoolScaler(services, run, ledger, self._pods, spec)
        size = scaler.begin(observed, drains.returned)
        publish_claimable(run, ledger, observed, revision)
        wake_waiting(run, waiting, self._namespace, self._name, observed, revision)

        # 7. Rotate the runners' token, and size the pool: decided by domain.pod_pools.decision.
        grant = self._rotate(tokens, grant, observed)
        result = scaler.scale(observed, size, grant, count_waiting(waiting, self._name, observed.members))

        # 8. Tell people.
        self._report.scaling_events(result)
        self._report.status(result)
        return Wait(drains.wait, "pods drain") if drains.wait else Settled()

    def _act_on_pods(self, observed: PodPoolObservation, spec: PodPoolSpec, grant: TokenGrant) -> PodPoolObservation:
        """Account for pods that are gone, do the step of each pod, and observe again what has changed."""
        timeouts = PodTimeouts(length(spec.ready_timeout), self._services.silence)
        actions = PodActions(self._services, self._run, self._ledger, self._pods, timeouts, self._report.event)
        actions.account_for_gone(observed)
        since_start = observed_for(self._ledger, self._services.silence, record=True)
        current, since_request = fingerprint(revision_of(spec), grant.name), pool_sizing(self._ledger).asked
        token_known = not grant.problem
        steps = list(pending_steps(observed, current, timeouts, since_request, since_start, token_known=token_known))
        for member, step in steps:
            actions.apply(step, observed.objects[member.uid], member)
        return self._observer.observe() if steps or observed.gone else observed

    def _rotate(self, tokens: RunnerTokens | NoTokens, grant: TokenGrant, observed: PodPoolObservation) -> TokenGrant:
        rotated = tokens.rotate(grant, observed.labelled, observed.now, self._is_idle)
        if grant.name and rotated.name != grant.name:
            self._report.event("TokenRotated", f"pods with {grant.name} are replaced when they are idle")
        return rotated

    def _is_idle(self) -> bool:
        return not any(pod.busy for pod in view(self._ledger).pods)
