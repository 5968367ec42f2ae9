"""Drains of pods that claims gave back: their sessions end, then the pods are warm again or are replaced.

Every write is conditional on the version of the pod that was read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

import structlog

from berthmaster.jobs.slot_ledger import SlotLedger
from domain.claims.draining import Drain, Next, due, in_order, next_of, parse_report
from domain.claims.labels import moment
from domain.claims.pod import Phase
from domain.kubernetes.names import DRAIN, GIVEN_BACK, PHASE, SESSIONS
from domain.kubernetes.objects import Pod
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.pod_steps import LedgerState, Member
from workers.kube.claim_pods import unreadable_records
from workers.kube.pool_pods import PoolPods
from workers.pod_pools.observe import PodPoolObservation
from workers.pod_pools.services import PodPoolServices
from workers.pod_pools.side_by_side import side_by_side
from workers.run import Run

log = structlog.get_logger()
Json = dict[str, Any]
SOON: Final = timedelta(seconds=1)
CLOCK_ERROR: Final = timedelta(seconds=5)
"""No timestamp of the API servers is further ahead: several of them may answer, each by its own clock."""
WAITING: Final = (Next.WAIT, Next.ASK)


@dataclass(frozen=True)
class DrainResult:
    """`reused` pods are warm again. `wait`: when the next drain is due, None without any drain."""

    reused: int = 0
    changed: bool = False
    wait: timedelta | None = None


@dataclass(frozen=True)
class PodDrains:
    """The drains of one run. `current` is the fingerprint of new pods: a pod with another one is not used again."""

    services: PodPoolServices
    run: Run
    ledger: SlotLedger
    pods: PoolPods
    spec: PodPoolSpec
    current: str

    def advance(self, observed: PodPoolObservation) -> DrainResult:
        """Do the next step of each drain, several side by side."""
        wait, steps = self.spec.drain_wait, next_steps(observed, self.spec, self.current)
        calls = (partial(self._apply, *step, observed.objects[step[0].uid]) for step in steps)
        applied = side_by_side(self.services.pod_writes, calls)
        done = [step for (*_, step), changed in zip(steps, applied, strict=True) if changed]
        asked = [replace(drain, asked=drain.id) if step is Next.ASK else drain for _, drain, step in steps]
        left = [due(drain, wait) for drain, (*_, step) in zip(asked, steps, strict=True) if step in WAITING]
        return DrainResult(done.count(Next.IDLE), bool(done), max(SOON, min(left)) if left else None)

    def _apply(self, member: Member, drain: Drain, step: Next, pod: Pod) -> bool:
        """True when the pod was written."""
        if step is Next.WAIT and drain.id:
            return False
        log.info("pod_drains", pool=self.ledger.pool, pod=member.name, step=step, sessions=drain.sessions)
        if not drain.id:
            since = self.services.kube.clock.now().isoformat(timespec="seconds")
            return self._write(pod, {}, {GIVEN_BACK: f"{self.run.token} {since}"})
        if step is Next.ASK:
            return self._write(pod, {}, {DRAIN: drain.id})
        if step is Next.GO:
            return self._write(pod, {PHASE: Phase.TERMINATING}, {})
        return self._open(member, pod)

    def _open(self, member: Member, pod: Pod) -> bool:
        """Take the pod over from its claim in Redis, write it, then open it: older decisions of others conflict."""
        token = f"{self.run.token}/drained"
        if member.view is not LedgerState.CLAIMED or not self.ledger.take_over(member.uid, member.token, token):
            return False
        self.run.keep(self.services.call_time)
        if not self.pods.write(pod, token):
            return False
        self.services.dispatcher(self.ledger).dispatch(self.ledger.open(member.uid, token) or ())
        return True

    def _write(self, pod: Pod, labels: Json, annotations: Json) -> bool:
        self.run.keep(self.services.call_time)
        return self.pods.set(pod, labels, annotations) is not None


def next_steps(observed: PodPoolObservation, spec: PodPoolSpec, current: str) -> list[tuple[Member, Drain, Next]]:
    """The next step of each drain, in the order in which they are done."""
    drains = in_order(
        (member, drain_of(member, observed.objects[member.uid], observed.now))
        for member in observed.members
        if member.drains
    )
    return [
        (
            member,
            drain,
            next_of(drain, spec.drain_wait, _is_reusable(member, observed.objects[member.uid], spec, current)),
        )
        for member, drain in drains
    ]


def _is_reusable(member: Member, pod: Pod, spec: PodPoolSpec, current: str) -> bool:
    return spec.recycle == "reuse" and member.fingerprint == current and not unreadable_records(pod)


def drain_of(member: Member, pod: Pod, now: datetime) -> Drain:
    """Read the drain from the pod. A pod is not usable again if one of its containers has restarted since it began.

    Such a container has lost its sessions. A drain that began in the future begins again, so that none takes longer
    than its length.
    """
    notes = pod.annotations
    start = moment(notes.get(GIVEN_BACK, "").partition(" ")[2])
    if start is None or start > now + CLOCK_ERROR:
        return Drain(None, timedelta(0))
    usable = member.phase == "Running" and member.ready and not _started_after(pod, start)
    report, asked = parse_report(notes.get(SESSIONS, "")), notes.get(DRAIN) or None
    return Drain(member.drain or None, max(timedelta(0), now - start), asked, report, usable)


def _started_after(pod: Pod, began: datetime) -> bool:
    containers = pod.status.get("containerStatuses") or ()
    starts = (
        moment(((container.get("state") or {}).get("running") or {}).get("startedAt") or "") for container in containers
    )
    return any(start > began for start in starts if start)
