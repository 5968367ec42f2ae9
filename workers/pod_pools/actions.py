"""Does for one pod the step that it needs.

A pod closes in Redis before anything happens to it in Kubernetes. It is written in Kubernetes before it opens in Redis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, assert_never

import structlog

from berthmaster.jobs.runner_ledger import Report
from berthmaster.jobs.slot_ledger import SlotLedger
from domain.kubernetes.objects import Pod
from domain.pod_pools.pod_steps import LedgerState, Member, PodStep, PodTimeouts, removal_reason
from workers.kube.pool_pods import PoolPods
from workers.pod_pools.observe import PodPoolObservation
from workers.pod_pools.scale_down import close_and_delete
from workers.pod_pools.services import PodPoolServices
from workers.run import Run
from workers.stores.slots.view import PodSlots

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

    def apply(self, step: PodStep, pod: Pod, member: Member) -> None:
        """Do what the pod needs. Each step may be repeated, and leaves a pod alone that has changed since."""
        log.info("pod_cared_for", pool=self.ledger.pool, pod=member.name, care=step)
        match step:
            case PodStep.NOTHING:
                pass
            case PodStep.OPEN:
                self._open(pod, member)
            case PodStep.REGISTER:
                self._register(pod, member)
            case PodStep.LIFT:
                self._lift(pod, member)
            case PodStep.HOLD | PodStep.QUARANTINE | PodStep.END:
                self._close(step, member)
            case PodStep.REMOVE:
                self._remove(pod, member)
            case PodStep.REPLACE:
                close_and_delete(self.services, self.run, self.ledger, self.pods, member, 0)
            case _:
                assert_never(step)

    def account_for_gone(self, observed: PodPoolObservation) -> None:
        """Place the jobs of pods that are gone again. A pod that is only in no list closes and gets its label back."""
        for entry in observed.slots.pods:
            if entry.uid not in observed.gone:
                continue
            if pod := find_unlisted_pod(self.services, self.run, self.pods, self.ledger, entry):
                self.ledger.quarantine(entry.uid)
                self.pods.take_back(pod)

    def _open(self, pod: Pod, member: Member) -> None:
        if self._write(pod):
            self.services.dispatcher(self.ledger).dispatch(self.ledger.open(member.uid) or ())
            self.ledger.became_ready()

    def _register(self, pod: Pod, member: Member) -> None:
        """Report for a pod on which nothing runs: it has no runner, or its claim has outlived the runner."""
        answer = self.ledger.report(Report(member.uid, member.name, (), self.ledger.verification()))
        self.services.dispatcher(self.ledger).dispatch(answer.placed)  # the ledger may have waited for this report only
        if member.held:
            self.ledger.record_claim(member.uid, member.holder)
        else:
            self._open(pod, member)

    def _lift(self, pod: Pod, member: Member) -> None:
        """Open a pod whose holder is over: whatever the holder still does conflicts with our write of the pod."""
        token = f"{self.run.token}/lift"
        if self.ledger.take_over(member.uid, member.token, token) and self._write(pod):
            self.services.dispatcher(self.ledger).dispatch(self.ledger.open(member.uid, token) or ())

    def _close(self, step: Literal[PodStep.HOLD, PodStep.QUARANTINE, PodStep.END], member: Member) -> None:
        if step is PodStep.HOLD:
            self.ledger.record_claim(member.uid, member.holder)
        else:
            self.ledger.quarantine(member.uid, for_good=step is PodStep.END)

    def _remove(self, pod: Pod, member: Member) -> None:
        """Delete the pod. Its jobs are placed again once it is gone, not before."""
        self.ledger.quarantine(member.uid, for_good=True)
        if member.view is LedgerState.UNKNOWN and not member.held:
            self.ledger.never_ready(member.revision, member.age)
        self.run.keep(self.services.call_time)
        if self.pods.delete(pod):
            reason = "a claim has used it" if member.held else removal_reason(member, self.timeouts) or "it is ending"
            log.warning("pod_removed", pool=self.ledger.pool, pod=member.name, reason=reason)
            self.event("PodRemoved", f"{member.name}: {reason}", member.uid)

    def _write(self, pod: Pod) -> bool:
        self.run.keep(self.services.call_time)
        return self.pods.write(pod, self.run.token)


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
