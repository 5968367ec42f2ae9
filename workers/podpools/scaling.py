"""Makes a pool as large as the decision says.

Names are written down before pods are created, idle pods are fenced before they are deleted, and whatever cannot be
read changes nothing.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime

import structlog

from domain.scaling.decision import Decision, decide, owed
from domain.scaling.members import made_of, surplus
from domain.scaling.pod_pool import PodPoolSpec
from domain.scaling.sensed import Sensed
from domain.scaling.unready import blocked
from workers.kube.pool_pods import PoolPods, revision_of
from workers.podpools.closing import close_and_delete
from workers.podpools.observe import Seen, sensed, utc_now
from workers.podpools.recording import record
from workers.podpools.services import PodPoolServices
from workers.podpools.tokens import Issued
from workers.run import Run
from workers.stores.slots.ledger import Size, SlotLedger

log = structlog.get_logger()


@dataclass(frozen=True)
class Scaled:
    """`size`: pods with slots that there shall be."""

    seen: Seen
    size: int
    reason: str
    issued: Issued
    barred: str = ""  # why no pod is created, whatever was decided
    change: str = ""  # Up or Down


def decided(seen: Seen, size: Size, spec: PodPoolSpec, now: datetime) -> tuple[Decision, Sensed]:
    """What is to be done, and what that was made from. Changes nothing."""
    unseen, present = expected(seen)
    what = sensed(seen, size, now, len(unseen) + max(0, size.pods - present))
    return decide(what, spec.policy, now), what


def expected(seen: Seen) -> tuple[frozenset[str], int]:
    """Pods that are to be created, or in no list yet; and all pods with slots, those included."""
    unseen = seen.slots.names - {m.name for m in seen.members}
    return unseen, sum(m.gives_slots for m in seen.members) + len(unseen)


def space(seen: Seen, unseen: frozenset[str], spec: PodPoolSpec) -> tuple[str, int]:
    """Why no pods may be created, '' if they may; and how many more."""
    barred = blocked(seen.slots.unready, revision_of(spec))
    return barred, 0 if barred else spec.max_replicas - len(seen.members) - len(unseen)


@dataclass(frozen=True)
class Scaling:
    """Makes one pool as large as the decision says."""

    services: PodPoolServices
    run: Run
    ledger: SlotLedger
    pods: PoolPods
    spec: PodPoolSpec

    def begin(self, seen: Seen) -> Size:
        """From now on older runs are refused. Raises NotVerified while it is not known what runs."""
        return self._resized(None, expected(seen)[1])

    def scale(self, seen: Seen, size: Size, issued: Issued) -> Scaled:
        """One decision, and its effect; `issued` is what new pods get."""
        spec, ledger, (unseen, present) = self.spec, self.ledger, expected(seen)
        decision, what = decided(seen, size, spec, utc_now())
        if decision.change:
            size = self._resized(size.pods + decision.change, present)
            log.info("pool_resized", pool=ledger.pool, size=size.pods, change=decision.change, reason=decision.reason)
        barred, room = space(seen, unseen, spec)
        record(ledger, decision, size.pods, what)
        self._create(unseen, min(size.pods - present, room), issued)
        now = made_of(revision_of(spec), issued.name)
        for member in surplus(seen.members, present - size.pods, now):
            close_and_delete(self.services, self.run, ledger, self.pods, member, owed(what, spec.policy))
        change = decision.move.value if decision.change else ""
        return Scaled(seen, size.pods, barred or decision.reason, issued, barred, change)

    def _resized(self, size: int | None, present: int) -> Size:
        return self.ledger.resize(self.run.token, size, self.spec.min_replicas, self.spec.max_replicas, present)

    def _create(self, unseen: frozenset[str], count: int, issued: Issued) -> None:
        """Those that were written down before, and `count` new ones. A name is random, and never used twice."""
        pool, spec = self.ledger.pool, self.spec
        fresh = [f"{pool.rpartition('/')[2]}-{secrets.token_hex(4)}" for _ in range(count)]
        if fresh:
            self.ledger.enlist(self.run.token, fresh)
        told = self.services.environment(pool, spec.model_dump(by_alias=True)) if spec.slots else []
        environment = issued.environment(told)
        for name in [*sorted(unseen), *fresh]:
            self.run.keep(self.services.call_time)
            self.pods.create(name, spec, environment, issued.annotations)
            log.info("pod_created", pool=pool, pod=name)
