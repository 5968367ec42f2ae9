"""Does for one pod the step that it needs.

A pod closes in Redis before anything happens to it in Kubernetes. It is written in Kubernetes before it opens in Redis.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Literal, assert_never

import structlog

from berthmaster.jobs.runner_ledger import Report
from berthmaster.jobs.slot_ledger import SlotLedger
from domain.kubernetes.objects import Pod
from domain.pod_pools.pod_steps import (
    CATEGORIES,
    WITH_SLOTS,
    LedgerState,
    Member,
    PodStep,
    PodTimeouts,
    removal_reason,
    retirement_reason,
)
from workers.kube.pool_pods import PoolPods
from workers.pod_pools.observe import PodPoolObservation
from workers.pod_pools.scale_down import close_and_delete, retire_and_delete
from workers.pod_pools.services import PodPoolServices
from workers.pod_pools.side_by_side import side_by_side
from workers.run import Run
from workers.stores.slots.pod_records import PodSlots

log = structlog.get_logger()


@dataclass(frozen=True)
class PodActions:
    """The actions of one run. `event(reason, words, once)` records an Event on the pool."""

    services: PodPoolServices
    run: Run
    ledger: SlotLedger
    pods: PoolPods
    timeouts: PodTimeouts
    event: Callable[[str, str, str], None]
    counting: Lock = field(default_factory=Lock)

    def apply(self, step: PodStep, pod: Pod, member: Member) -> Pod | None:
        """Do what the pod needs. Each step may be repeated, and leaves a pod alone that has changed since.

        Returns the pod if it is open now. Steps of different pods may be done at a time.
        """
        log.info("pod_cared_for", pool=self.ledger.pool, pod=member.name, care=step)
        match step:
            case PodStep.NOTHING:
                pass
            case PodStep.OPEN | PodStep.REGISTER | PodStep.LIFT:
                opening = {PodStep.OPEN: self._open, PodStep.REGISTER: self._register, PodStep.LIFT: self._lift}
                return opening[step](pod, member)
            case PodStep.HOLD | PodStep.QUARANTINE | PodStep.END:
                self._close(step, member)
            case PodStep.REMOVE:
                self._remove(pod, member)
            case PodStep.RETIRE | PodStep.REPLACE:
                self._remove_idle(step, member)
            case PodStep.PROTECT | PodStep.EXPOSE:
                self._set_protection(step, pod)
            case _:
                assert_never(step)
        return None

    def account_for_gone(self, observed: PodPoolObservation) -> None:
        """Place the jobs of pods that are gone again. A pod that is only in no list closes and gets its label back."""
        slots = observed.slots
        self._account_for_all([entry for entry in (*slots.pods, *slots.unrecorded) if entry.uid in observed.gone])

    def account_for_missing(self, observed: PodPoolObservation) -> bool:
        """Account for those that counted for the size: no other pod is created for one that is only in no list.

        True when there was any.
        """
        missing = [entry for entry in observed.slots.pods if entry.uid in observed.gone and gives_slots(entry)]
        self._account_for_all(missing)
        return bool(missing)

    def _account_for_all(self, entries: Collection[PodSlots]) -> None:
        side_by_side(self.services.pod_writes, (partial(self._account_for, entry) for entry in entries))

    def _account_for(self, entry: PodSlots) -> None:
        pod = find_unlisted_pod(self.services, self.run, self.pods, self.ledger, entry)
        if pod and pod.uid not in self.pods.latest:  # else it is newer than what this process knew
            self.ledger.quarantine(entry.uid)
            self.pods.take_back(pod)

    def _open(self, pod: Pod, member: Member) -> Pod | None:
        if written := self._write(pod, busy=bool(member.busy)):
            self.services.dispatcher(self.ledger).dispatch(self.ledger.open(member.uid) or ())
            self.ledger.became_ready()
        return written

    def _register(self, pod: Pod, member: Member) -> Pod | None:
        """Report for a pod on which nothing runs: it has no runner, or its claim has outlived the runner."""
        answer = self.ledger.report(Report(member.uid, member.name, (), self.ledger.verification()))
        self.services.dispatcher(self.ledger).dispatch(answer.placed)  # the ledger may have waited for this report only
        if not member.held:
            return self._open(pod, member)
        self.ledger.record_claim(member.uid, member.holder)
        return None

    def _lift(self, pod: Pod, member: Member) -> Pod | None:
        """Open a pod whose holder is over: whatever the holder still does conflicts with our write of the pod."""
        token = f"{self.run.token}/lift"
        if not self.ledger.take_over(member.uid, member.token, token) or not (written := self._write(pod)):
            return None
        self.services.dispatcher(self.ledger).dispatch(self.ledger.open(member.uid, token) or ())
        return written

    def _close(self, step: Literal[PodStep.HOLD, PodStep.QUARANTINE, PodStep.END], member: Member) -> None:
        if step is PodStep.HOLD:
            self.ledger.record_claim(member.uid, member.holder)
        else:
            self._quarantine(member, for_good=step is PodStep.END)

    def _quarantine(self, member: Member, *, for_good: bool) -> None:
        if closed := self.ledger.quarantine(member.uid, for_good=for_good):
            self.services.dispatcher(self.ledger).dispatch(closed.placed)

    def _remove(self, pod: Pod, member: Member) -> None:
        """Delete the pod. What has started there is placed again once the pod is gone, not before."""
        self._quarantine(member, for_good=True)
        if member.view is LedgerState.UNKNOWN and not member.held:
            with self.counting:  # pods that booted together count once
                self.ledger.never_ready(member.revision, member.age)
        self.run.keep(self.services.call_time)
        if self.pods.delete(pod):
            reason = "a claim has used it" if member.held else removal_reason(member, self.timeouts) or "it is ending"
            log.warning("pod_removed", pool=self.ledger.pool, pod=member.name, reason=reason)
            self.event("PodRemoved", f"{member.name}: {reason}", member.uid)

    def _remove_idle(self, step: Literal[PodStep.RETIRE, PodStep.REPLACE], member: Member) -> None:
        """Delete a pod that nothing runs on. Jobs that it has by now keep it."""
        about = self.services, self.run, self.ledger, self.pods, member
        if step is PodStep.REPLACE:
            close_and_delete(*about, 0)
        elif retire_and_delete(*about):
            self._account_for_retired(member)

    def _account_for_retired(self, member: Member) -> None:
        if member.view is LedgerState.NEW and not member.opened:
            with self.counting:
                self.ledger.never_ready(member.revision, member.age)
        reason = retirement_reason(member, self.timeouts) or "it is not ready"
        log.warning("pod_removed", pool=self.ledger.pool, pod=member.name, reason=reason)
        self.event("PodRemoved", f"{member.name}: {reason}", member.uid)

    def _set_protection(self, step: Literal[PodStep.PROTECT, PodStep.EXPOSE], pod: Pod) -> None:
        self.run.keep(self.services.call_time)
        (self.pods.protect if step is PodStep.PROTECT else self.pods.expose)(pod)

    def _write(self, pod: Pod, *, busy: bool = False) -> Pod | None:
        self.run.keep(self.services.call_time)
        return self.pods.write(pod, self.run.token, busy=busy)


def gives_slots(entry: PodSlots) -> bool:
    """Tell whether a pod of the ledger counts for the size of its pool."""
    return CATEGORIES[LedgerState(entry.view)] in WITH_SLOTS


def find_unlisted_pod(
    services: PodPoolServices, run: Run, pods: PoolPods, ledger: SlotLedger, entry: PodSlots
) -> Pod | None:
    """Read a pod of the ledger that no list shows. None: it is gone, and its jobs are placed again.

    A pod that is new, of another owner or without its label is in no list and may run: it is read by its name.
    """
    run.keep(services.call_time)
    if pod := pods.read(entry.name, entry.uid):
        return pod
    services.dispatcher(ledger).dispatch(ledger.remove_pod(entry.uid))
    services.forget_queue(ledger.pool, entry.name)
    return None
