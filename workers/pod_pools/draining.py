"""Pods that claims gave back: their sessions end, and they are warm again, or go. Every write is of what was read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

import structlog

from berthmaster.jobs.slot_ledger import SlotLedger
from domain.claims.draining import Drain, Next, counted, due, in_order, next_of
from domain.claims.labels import moment
from domain.claims.pod import Phase
from domain.kubernetes.names import DRAIN, GIVEN_BACK, PHASE, SESSIONS
from domain.kubernetes.objects import Pod
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.pod_steps import Member, View
from events.kube.api import Conflict, Denied, Invalid, NotFound
from workers.kube.claimable_pods import ClaimPods
from workers.kube.pool_pods import PoolPods
from workers.pod_pools.observe import Seen
from workers.pod_pools.services import PodPoolServices
from workers.run import Run

log = structlog.get_logger()
Json = dict[str, Any]
SOON: Final = timedelta(seconds=1)
EXACT: Final = timedelta(seconds=5)
"""No stamp of the API server's time is further ahead of it: several of its servers may answer, each with its clock."""
WAITING: Final = (Next.WAIT, Next.ASK)


@dataclass(frozen=True)
class Drained:
    """`returned`: pods that are warm again. `wait`: until a drain must be looked at again, None for none."""

    returned: int = 0
    changed: bool = False
    wait: timedelta | None = None


@dataclass(frozen=True)
class Draining:
    """Of one run; `made`: what pods are made of at present, those of anything else are replaced."""

    services: PodPoolServices
    run: Run
    ledger: SlotLedger
    pods: PoolPods
    spec: PodPoolSpec
    made: str

    def drain(self, seen: Seen) -> Drained:
        wait, steps = self.spec.drain_wait, next_steps(seen, self.spec, self.made)
        done = [step for m, drain, step in steps if self._does(m, drain, step, seen.objects[m.uid])]
        asked = [replace(drain, asked=drain.id) if step is Next.ASK else drain for _, drain, step in steps]
        left = [due(drain, wait) for drain, (*_, step) in zip(asked, steps, strict=True) if step in WAITING]
        return Drained(done.count(Next.IDLE), bool(done), max(SOON, min(left)) if left else None)

    def _does(self, member: Member, drain: Drain, step: Next, pod: Pod) -> bool:
        if step is Next.WAIT and drain.id:
            return False
        log.info("pod_drains", pool=self.ledger.pool, pod=member.name, step=step, sessions=drain.sessions)
        if not drain.id:
            since = self.services.kube.clock.now().isoformat(timespec="seconds")
            return self._written(pod, {}, {GIVEN_BACK: f"{self.run.token} {since}"})
        if step is Next.ASK:
            return self._written(pod, {}, {DRAIN: drain.id})
        if step is Next.GO:
            return self._written(pod, {PHASE: Phase.TERMINATING}, {})
        return self._opened(member, pod)

    def _opened(self, member: Member, pod: Pod) -> bool:
        """From its claim's token to ours, then the pod, then Redis: what others decided before conflicts."""
        token = f"{self.run.token}/drained"
        if member.view is not View.CLAIMED or not self.ledger.take_over(member.uid, member.token, token):
            return False
        self.run.keep(self.services.call_time)
        if not self.pods.write(pod, token):
            return False
        self.services.dispatcher(self.ledger).dispatch(self.ledger.open(member.uid, token) or ())
        return True

    def _written(self, pod: Pod, labels: Json, annotations: Json) -> bool:
        self.run.keep(self.services.call_time)
        try:
            ClaimPods(self.services.kube, pod.namespace).write(pod, labels, annotations)
        except (Conflict, NotFound):
            return False
        except (Denied, Invalid) as error:
            log.warning("pod_write_refused", pool=self.ledger.pool, pod=pod.name, reason=str(error))
            return False
        return True


def next_steps(seen: Seen, spec: PodPoolSpec, made: str) -> list[tuple[Member, Drain, Next]]:
    """In the order in which they are done."""
    drains = in_order((m, drain_of(m, seen.objects[m.uid], seen.now)) for m in seen.members if m.drains)
    return [(m, drain, next_of(drain, spec.drain_wait, _recycled(m, spec, made))) for m, drain in drains]


def _recycled(member: Member, spec: PodPoolSpec, made: str) -> bool:
    return spec.recycle == "reuse" and member.made_of == made


def drain_of(member: Member, pod: Pod, now: datetime) -> Drain:
    """A container that started anew has lost its sessions with all that it knew: nobody else gets such a pod.

    A drain that began in the future begins anew, so that none is longer than its length.
    """
    notes = pod.annotations
    began = moment(notes.get(GIVEN_BACK, "").partition(" ")[2])
    if began is None or began > now + EXACT:
        return Drain("", timedelta(0))
    sessions, answers = counted(notes.get(SESSIONS, ""))
    usable = member.phase == "Running" and member.ready and not _started_after(pod, began)
    return Drain(member.drain, max(timedelta(0), now - began), notes.get(DRAIN, ""), answers, sessions, usable)


def _started_after(pod: Pod, began: datetime) -> bool:
    containers = pod.status.get("containerStatuses") or ()
    starts = (moment(((each.get("state") or {}).get("running") or {}).get("startedAt") or "") for each in containers)
    return any(start > began for start in starts if start)
