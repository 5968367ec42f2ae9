"""Makes a pool as large as the decision says.

Names are written down before pods are created, idle pods are fenced before they are deleted, and whatever cannot be
read changes nothing.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import structlog

from domain.scaling.decision import decide, owed
from domain.scaling.members import surplus
from domain.scaling.pod_pool import PodPoolSpec
from domain.scaling.unready import blocked
from workers.kube.pool_pods import PoolPods, revision_of
from workers.podpools.closing import close_and_delete
from workers.podpools.observe import Seen, sensed, utc_now
from workers.podpools.recording import record
from workers.podpools.services import PodPoolServices
from workers.run import Run
from workers.stores.slots.ledger import SlotLedger

log = structlog.get_logger()


@dataclass(frozen=True)
class Scaled:
    """`size`: pods with slots that there shall be."""

    seen: Seen
    size: int
    reason: str
    barred: str = ""  # why no pod is created, whatever was decided
    change: str = ""  # Up or Down


def scale(
    services: PodPoolServices, run: Run, ledger: SlotLedger, pods: PoolPods, spec: PodPoolSpec, seen: Seen
) -> Scaled:
    """One decision, and its effect."""
    unseen = seen.slots.names - {m.name for m in seen.members}
    present = sum(m.gives_slots for m in seen.members) + len(unseen)
    size = ledger.resize(run.token, 0, spec.min_replicas, spec.max_replicas, present)
    now = utc_now()
    what = sensed(seen, size, now, len(unseen) + max(0, size.pods - present))
    decision = decide(what, spec.policy, now)
    if decision.change:
        size = ledger.resize(run.token, decision.change, spec.min_replicas, spec.max_replicas, present)
        log.info("pool_resized", pool=ledger.pool, size=size.pods, change=decision.change, reason=decision.reason)
    barred = blocked(seen.slots.unready, revision_of(spec.template))
    room = 0 if barred else spec.max_replicas - len(seen.members) - len(unseen)
    record(ledger, decision, size.pods, what)
    _create(services, run, ledger, pods, spec, unseen, min(size.pods - present, room))
    for member in surplus(seen.members, present - size.pods, revision_of(spec.template)):
        close_and_delete(services, run, ledger, pods, member, owed(what, spec.policy))
    return Scaled(seen, size.pods, barred or decision.reason, barred, decision.move.value if decision.change else "")


def _create(
    services: PodPoolServices,
    run: Run,
    ledger: SlotLedger,
    pods: PoolPods,
    spec: PodPoolSpec,
    unseen: frozenset[str],
    count: int,
) -> None:
    """Those that were written down before, and `count` new ones. A name is random, and never used twice."""
    fresh = [f"{ledger.pool.rpartition('/')[2]}-{secrets.token_hex(4)}" for _ in range(count)]
    if fresh:
        ledger.enlist(run.token, fresh)
    for name in [*sorted(unseen), *fresh]:
        run.keep(services.call_time)
        pods.create(name, spec.template, services.environment(ledger.pool, spec.model_dump(by_alias=True)))
        log.info("pod_created", pool=ledger.pool, pod=name)
