"""What people read about a pod pool: its status and its Events."""

from __future__ import annotations

import orjson

from berthmaster.jobs.slot_ledger import SlotLedger
from domain.pod_pools.pod_steps import LedgerState
from domain.pod_pools.status import (
    SlotCounts,
    invalid_status,
    pod_pool_status,
    pods_lost,
    ready,
    runner_token,
    schedules,
)
from domain.status import write_refused
from events.kube.api import refused_so_far
from events.workqueue import Snapshot
from workers.pod_pools.scaling import ScalingResult
from workers.pod_pools.services import PodPoolServices
from workers.run import Run
from workers.stores.slots.view import SlotsView


class PodPoolReporter:
    """Writes the status and the Events of one pool in one run."""

    def __init__(self, services: PodPoolServices, run: Run, ledger: SlotLedger, namespace: str, pool: Snapshot) -> None:
        self._services, self._run, self._ledger = services, run, ledger
        self._namespace, self._pool = namespace, pool
        self._name: str = pool.body["name"]
        self._generation = int(pool.body["generation"])

    def event(self, reason: str, words: str, once: str = "", *, warning: bool = False) -> None:
        """Record an Event. `once` names its cause if that outlasts the run: the same cause gives no second Event."""
        about = (self._namespace, self._name, self._pool.uid)
        self._services.events.pod_pool(*about, reason, words, once or self._run.token, warning)

    def publish(self, result: ScalingResult) -> None:
        """Record what the run did as Events, then write the status."""
        self.scaling_events(result)
        self.status(result)

    def scaling_events(self, result: ScalingResult) -> None:
        """Record that the pool has a new size, and that pods were refused."""
        if result.change:
            self.event(f"Scaled{result.decision.move}", result.change)
        if refusal := result.created.refusal:
            self.event("PodsRefused", refusal, f"{self._generation} {refusal}", warning=True)

    def status(self, result: ScalingResult) -> None:
        """Write the status, which is derived entirely from what the run observed and did."""
        observed, grant = result.observed, result.grant
        conditions = [ready(result.obstacle, result.created.refusal, grant.withheld)]
        if grant.name or grant.problem:
            conditions.append(runner_token(grant.problem, grant.name, grant.caution))
        scheduled = schedules(result.schedules)
        conditions += [condition for condition in (scheduled, pods_lost(observed.members)) if condition]
        if refused := refused_so_far():
            conditions.append(write_refused(str(refused[0])))
        waiting = sum(observed.slots.waiting.values()), result.claims
        counts, reason = slot_counts(observed.slots), result.problem or result.decision.reason
        about = (self._name, self._generation)
        status = pod_pool_status(observed.members, counts, waiting, result.size, reason, conditions, about)
        before = self._write(status)
        if scheduled and before is not None and orjson.dumps(scheduled.message) not in before:
            words = scheduled.message
            self.event(f"Schedules{scheduled.reason}", words, words, warning=scheduled.status == "False")

    def invalid(self, problem: str) -> None:
        """Write what is wrong with the spec, and leave the rest of the status."""
        self._write(invalid_status(problem, self._generation))

    def _write(self, status: dict[str, object]) -> bytes | None:
        """Write a status that is not the one written last, and return that one. None: it is the same.

        Another pool of this name has another UID.
        """
        text = orjson.dumps([self._run.history, self._pool.uid, status])
        if (before := self._services.shown.get(self._ledger.prefix)) == text:
            return None
        self._run.keep(self._services.call_time)
        self._pool = self._services.pools.set_status(self._namespace, self._pool, status)
        self._run.record_write(self._pool)
        self._services.shown.put(self._ledger.prefix, text)
        return before


def slot_counts(slots: SlotsView) -> SlotCounts:
    """Count the slots of all pods. Only those of open pods can be idle."""
    open_pods = [pod for pod in slots.pods if pod.view == LedgerState.OPEN]
    idle = sum(not job for pod in open_pods for job in pod.slots)
    total = sum(len(pod.slots) for pod in slots.pods)
    return SlotCounts(total=total, used=slots.used, reserved=slots.reserved, idle=idle)
