"""Reconciles one PodPool: verify the slots, care for each pod, size the pool, show the status.

The order is the rule: what is gone (and the runners' Redis user) first, then health, then the runners' token, then
what claims may have, then size.
"""

from __future__ import annotations

import time
from datetime import timedelta
from functools import partial

import orjson
import structlog
from pydantic import ValidationError

from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.unreadable import UnreadableLedger
from berthmaster.routing import split_key
from berthmaster.spec import length
from domain.outcome import Outcome, Settled, Wait
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.pod_steps import Member, Patience, made_of
from domain.pod_pools.status import invalid_status, pod_pool_status, ready, runner_token
from domain.spec_errors import spec_problem
from domain.status import write_refused
from events.kube.api import refused_so_far
from events.workqueue import Snapshot
from workers.kube.errors import translated
from workers.kube.pod_pools import owner_reference
from workers.kube.pool_pods import PoolPods, revision_of
from workers.kube.stale_snapshot import as_it_is
from workers.pod_pools.claimable_pods import offer
from workers.pod_pools.deletion import leave, sought
from workers.pod_pools.draining import Draining
from workers.pod_pools.observation_time import watched
from workers.pod_pools.observe import Seen, needs, observed, slot_counts, spec_of
from workers.pod_pools.pod_actions import Caring
from workers.pod_pools.reclaim import reclaim
from workers.pod_pools.run_pacing import rest, too_soon
from workers.pod_pools.runner_tokens import Issued, tokens_of
from workers.pod_pools.scaling import Scaled, Scaling
from workers.pod_pools.services import PodPoolServices
from workers.pod_pools.waiting_claims import count, wake
from workers.run import Run
from workers.stores.slots.view import standing, view

log = structlog.get_logger()


class PodPoolsReconciler:
    """Callable with a Run whose key is a pod pool's."""

    def __init__(self, services: PodPoolServices) -> None:
        self._services = services

    def __call__(self, run: Run) -> Outcome:
        with translated(self._services.events, run.key, run.snapshot):
            _, namespace, name = split_key(run.key)
            look, act = (
                partial(self._services.pools.read, namespace, name),
                partial(self._reconcile, run, namespace, name),
            )
            return as_it_is(f"PodPool {namespace}/{name}", run.snapshot, look, act)

    def _reconcile(self, run: Run, namespace: str, name: str, pool: Snapshot | None) -> Outcome:
        if pool is None or pool.gone or pool.body["deleting"]:
            return leave(self._services, run, namespace, name)
        self._services.names.add(f"{namespace}/{name}")
        return PodPoolRun(self._services, run, namespace, pool).outcome()


class PodPoolRun:
    """One run on one version of one pool."""

    def __init__(self, services: PodPoolServices, run: Run, namespace: str, pool: Snapshot) -> None:
        self._services, self._run, self._namespace, self._pool = services, run, namespace, pool
        self._name: str = pool.body["name"]
        self._ledger: SlotLedger = services.ledger(f"{namespace}/{self._name}")
        self._pods_seen: tuple[Member, ...] = ()
        self._looked = timedelta(0)
        self._pods = PoolPods(services.kube, namespace, self._name, owner_reference(pool))

    def outcome(self) -> Outcome:
        try:
            spec = spec_of(self._pool.body)
        except ValidationError as error:
            problem = spec_problem(error)
            log.warning("pod_pool_invalid", pool=self._ledger.pool, reason=problem)
            self._show(invalid_status(problem, self._pool.body["generation"]))
            return Settled()
        if left := too_soon(self._ledger):
            return Wait(left, "the last run was just now, and looked at many pods")
        try:
            outcome = self._valid(spec)
        except UnreadableLedger as error:
            self._event("LedgerUnreadable", str(error), str(error), warning=True)
            raise
        if len(self._pods_seen) >= self._services.many:
            rest(self._ledger, self._looked)
        return outcome

    def _valid(self, spec: PodPoolSpec) -> Outcome:
        mark = self._ledger.verification()
        waiting = self._services.waiting.all(self._namespace)
        seen = self._observe()
        if reclaim(self._services, self._run, self._namespace, seen):
            seen = self._observe()
        tokens = tokens_of(self._services, self._run, self._ledger, self._pool, spec)
        issued = tokens.verify(seen.labelled)
        self._ledger.begin([member.uid for member in seen.members if member.owes_report], mark)
        seen = self._cared(seen, spec, issued)
        made = made_of(revision_of(spec), issued.name)
        drained = Draining(self._services, self._run, self._ledger, self._pods, spec, made).drain(seen)
        if drained.changed:
            seen = self._observe()
        scaling = Scaling(self._services, self._run, self._ledger, self._pods, spec)
        size = scaling.begin(seen, drained.returned)
        offer(self._run, self._ledger, seen, revision_of(spec))
        wake(self._run, waiting, self._namespace, self._name, seen, revision_of(spec))
        before, issued = issued, tokens.rotate(issued, seen.labelled, seen.now, self._idle)
        if before.name and issued.name != before.name:
            self._event("TokenRotated", f"pods with {before.name} are replaced when they are idle")
        scaled = scaling.scale(seen, size, issued, count(waiting, self._name, seen.members))
        self._tell(scaled)
        self._status(scaled)
        return Wait(drained.wait, "pods drain") if drained.wait else Settled()

    def _cared(self, seen: Seen, spec: PodPoolSpec, issued: Issued) -> Seen:
        """What there is after what is gone was written off, and each pod got what it needs."""
        for pod in seen.slots.pods:
            if pod.uid not in seen.gone:
                continue
            if there := sought(self._services, self._run, self._pods, self._ledger, pod):
                self._ledger.quarantine(pod.uid)
                self._pods.take_back(there)
        patience = Patience(length(spec.ready_timeout), self._services.silence)
        heard = watched(self._ledger, self._services.silence, looks=True)
        made = made_of(revision_of(spec), issued.name)
        cared = list(needs(seen, made, patience, standing(self._ledger).asked, heard, known=not issued.problem))
        caring = Caring(self._services, self._run, self._ledger, self._pods, patience, self._event)
        for member, needed in cared:
            caring.care(seen.objects[member.uid], member, needed)
        return self._observe() if cared or seen.gone else seen

    def _idle(self) -> bool:
        return not any(pod.busy for pod in view(self._ledger).pods)

    def _observe(self) -> Seen:
        """A name that was seen is written off at once: a pod that goes must not be made again by its name."""
        began = time.monotonic()
        self._run.keep(self._services.call_time)
        listed = self._pods.labelled()
        seen = observed(listed, self._pods.owns, view(self._ledger), self._services.kube.clock.now())
        self._ledger.forget_names(seen.slots.names & {m.name for m in seen.members})
        self._pods_seen = seen.members
        self._looked += timedelta(seconds=time.monotonic() - began)
        return seen

    def _tell(self, scaled: Scaled) -> None:
        if scaled.change:
            self._event(f"Scaled{scaled.decision.move}", scaled.change)
        if refused := scaled.created.refused:
            self._event("PodsRefused", refused, f"{self._pool.body['generation']} {refused}", warning=True)

    def _event(self, reason: str, words: str, once: str = "", *, warning: bool = False) -> None:
        """`once` names the transition where it is not one of this run alone."""
        about = (self._namespace, self._name, self._pool.uid)
        self._services.events.pod_pool(*about, reason, words, once or self._run.token, warning)

    def _status(self, scaled: Scaled) -> None:
        seen = scaled.seen
        waiting = sum(seen.slots.waiting.values()), scaled.claims
        about = (self._name, int(self._pool.body["generation"]))
        issued = scaled.issued
        conditions = [ready(scaled.barred, scaled.created.refused, issued.withheld)]
        if issued.name or issued.problem:
            conditions.append(runner_token(issued.problem, issued.name, issued.caution))
        if refused := refused_so_far():
            conditions.append(write_refused(str(refused[0])))
        counts, reason = slot_counts(seen.slots), scaled.problem or scaled.decision.reason
        self._show(pod_pool_status(seen.members, counts, waiting, scaled.size, reason, conditions, about))

    def _show(self, status: dict[str, object]) -> None:
        text = orjson.dumps([self._run.history, self._pool.uid, status])  # another pool of the name shows nothing yet
        if self._services.shown.get(self._ledger.prefix) == text:
            return
        self._run.keep(self._services.call_time)
        self._pool = self._services.pools.set_status(self._namespace, self._pool, status)
        self._run.record_write(self._pool)
        self._services.shown.put(self._ledger.prefix, text)
