"""Does for one pod what it needs: opened, held, set aside, removed, replaced.

It is closed in Redis before anything happens to it in Kubernetes, and written in Kubernetes before it is opened in
Redis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from berthmaster.jobs.slot_ledger import Report, SlotLedger
from domain.kubernetes.objects import Pod
from domain.pod_pools.pod_steps import Care, Member, Patience, View, useless
from workers.kube.pool_pods import PoolPods
from workers.pod_pools.scale_down import close_and_delete
from workers.pod_pools.services import PodPoolServices
from workers.run import Run

log = structlog.get_logger()


@dataclass(frozen=True)
class Caring:
    """Of one run. `event(reason, words, once)` tells people."""

    services: PodPoolServices
    run: Run
    ledger: SlotLedger
    pods: PoolPods
    patience: Patience
    event: Callable[[str, str, str], None]

    def care(self, pod: Pod, member: Member, needed: Care) -> None:
        log.info("pod_cared_for", pool=self.ledger.pool, pod=member.name, care=needed)
        if needed is Care.OPEN:
            self._open(pod, member)
        elif needed is Care.REGISTER:
            self._register(pod, member)
        elif needed is Care.HOLD:
            self.ledger.hold(member.uid, member.holder)
        elif needed is Care.LIFT:
            self._lift(pod, member)
        elif needed is Care.REMOVE:
            self._remove(pod, member)
        elif needed is Care.REPLACE:
            close_and_delete(self.services, self.run, self.ledger, self.pods, member, 0)
        else:
            self.ledger.set_aside(member.uid, for_good=needed is Care.END)

    def _open(self, pod: Pod, member: Member) -> None:
        if self._written(pod):
            self.services.dispatcher(self.ledger).dispatch(self.ledger.open(member.uid) or ())
            self.ledger.became_ready()

    def _register(self, pod: Pod, member: Member) -> None:
        """Of a pod that has no runner, or whose claim has outlived it: nothing runs there."""
        answer = self.ledger.report(Report(member.uid, member.name, (), self.ledger.verification()))
        self.services.dispatcher(self.ledger).dispatch(answer.placed)  # it may have been the last that was waited for
        if member.held:
            self.ledger.hold(member.uid, member.holder)
        else:
            self._open(pod, member)

    def _lift(self, pod: Pod, member: Member) -> None:
        """Closed by who is over: whatever it still does conflicts with the write, then the pod opens again."""
        token = f"{self.run.token}/lift"
        if self.ledger.take_over(member.uid, member.token, token) and self._written(pod):
            self.services.dispatcher(self.ledger).dispatch(self.ledger.open(member.uid, token) or ())

    def _remove(self, pod: Pod, member: Member) -> None:
        """Its jobs are placed again once it is gone, not before."""
        self.ledger.set_aside(member.uid, for_good=True)
        if member.view is View.UNKNOWN and not member.held:
            self.ledger.never_ready(member.revision, member.age)
        self.run.keep(self.services.call_time)
        if self.pods.delete(pod):
            reason = "a claim has used it" if member.held else useless(member, self.patience) or "it is ending"
            log.warning("pod_removed", pool=self.ledger.pool, pod=member.name, reason=reason)
            self.event("PodRemoved", f"{member.name}: {reason}", member.uid)

    def _written(self, pod: Pod) -> bool:
        self.run.keep(self.services.call_time)
        return self.pods.write(pod, self.run.token)
