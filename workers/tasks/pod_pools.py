"""Tasks of jobs and pod pools: what other services ask for, and what time brings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import structlog
from celery import shared_task

from berthmaster import routing
from berthmaster.errors import TransientError
from berthmaster.jobs.job import Placed
from berthmaster.jobs.payloads import CancelJob, ConfirmJob, FinishJob, OfJob, SubmitJob
from berthmaster.jobs.slot_ledger import PAUSE, Change, NotVerified, SlotLedger
from berthmaster.jobs.unreadable import UnreadableLedger
from berthmaster.kinds import POD_POOL
from berthmaster.redis.outage import OUTAGE
from berthmaster.spec import length
from domain.pod_pools.pod_pool import PodPoolSpec
from workers.pod_pools.reconciler import PodPoolsReconciler
from workers.tasks.keys import discard_key, reconcile_key
from workers.tasks.payloads import Nothing, ReconcilePodPool, takes
from workers.tasks.ticking import once_a_period
from workers.wiring.process import Services, services

log = structlog.get_logger()
PATIENT: Final[dict[str, Any]] = {
    "autoretry_for": (TransientError, *OUTAGE),
    "retry_backoff": True,
    "retry_backoff_max": 30,
    "max_retries": 20,
}
"""A request must not be lost because Redis is being verified; a client that waits says it again anyway."""


@shared_task(name=POD_POOL.task)
@takes(ReconcilePodPool, discard_key)
def reconcile_pod_pool(asked: ReconcilePodPool) -> None:
    """Cares for the pool's pods, and makes it as large as its jobs need."""
    parts = services()
    reconcile_key(parts, asked, PodPoolsReconciler(parts.podpools))


@shared_task(name=routing.SLOTS_SUBMIT, **PATIENT)
@takes(SubmitJob)
def submit(asked: SubmitJob) -> None:
    """Takes a job in, once an id, and gives it a slot or a place in the line."""
    parts = services()
    ledger = parts.podpools.ledger(asked.job.pool)
    record, placed = ledger.submit(asked.job.job(hold_ms(parts, asked.job.pool)))
    log.info("job_submitted", pool=ledger.pool, job=record.id, state=record.state, pod=record.uid)
    after(parts, ledger, placed, waits=record.state == "waiting")


@shared_task(name=routing.SLOTS_CONFIRM, **PATIENT)
@takes(ConfirmJob)
def confirm(asked: ConfirmJob) -> None:
    """A person has seen the plan: the next phase may run."""
    change(asked, "job_confirmed", lambda ledger: ledger.confirm(asked.id, asked.plan))


@shared_task(name=routing.SLOTS_CANCEL, **PATIENT)
@takes(CancelJob)
def cancel(asked: CancelJob) -> None:
    """What has started keeps its slot until its runner says that it stopped."""
    change(asked, "job_cancelled", lambda ledger: ledger.cancel(asked.id))


@shared_task(name=routing.SLOTS_FINISH, **PATIENT)
@takes(FinishJob)
def finish(asked: FinishJob) -> None:
    """The end of an attempt, from a runner that speaks Celery only."""
    ending = (asked.id, asked.phase, asked.attempt, asked.outcome, asked.result)
    change(asked, "job_finished", lambda ledger: ledger.finish(*ending))


def change(asked: OfJob, event: str, of: Callable[[SlotLedger], Change]) -> None:
    parts = services()
    ledger = parts.podpools.ledger(asked.pool)
    change = of(ledger)
    log.info(event, pool=asked.pool, job=asked.id, taken=change.taken, state=change.state)
    after(parts, ledger, change.placed)


@shared_task(name=routing.SLOTS_SWEEP)
@takes(Nothing)
def sweep(_: Nothing) -> None:
    """Every 5 seconds: reservations that ran out, jobs that may be placed now, messages that were lost."""
    parts = services()
    once_a_period(parts.ticks, routing.SLOTS_SWEEP, parts.settings.slots.sweep_every, lambda: sweep_pools(parts))


@shared_task(name=routing.PODPOOLS_AUTOSCALE)
@takes(Nothing)
def autoscale(_: Nothing) -> None:
    """Every 15 seconds: each pool is looked at by its own run, of which there is one at a time."""
    parts = services()
    period = parts.settings.slots.autoscale_every
    once_a_period(parts.ticks, routing.PODPOOLS_AUTOSCALE, period, lambda: touch_pools(parts))


def sweep_pools(parts: Services) -> None:
    """What is wrong with one pool does not keep the others waiting."""
    for pool in parts.podpools.names.all():
        try:
            sweep_pool(parts, pool)
        except OUTAGE:
            raise
        except UnreadableLedger as error:
            log.warning("pool_unreadable", pool=pool, reason=str(error))
        except Exception:
            log.exception("pool_not_swept", pool=pool)


def sweep_pool(parts: Services, pool: str) -> None:
    ledger = parts.podpools.ledger(pool)
    try:
        settings = parts.settings.slots
        swept = ledger.sweep(settings.remember, max(PAUSE, 4 * settings.sweep_every))
    except NotVerified:
        touch(parts, pool)
        return
    for job in swept.expired:
        log.warning("reservation_expired", pool=pool, job=job)
    after(parts, ledger, swept.placed)


def touch_pools(parts: Services) -> None:
    for pool in parts.podpools.names.all():
        touch(parts, pool)


def after(parts: Services, ledger: SlotLedger, placed: Iterable[Placed], *, waits: bool = False) -> None:
    """Sends what was placed; a job that waits makes its pool look at once whether it must grow."""
    parts.podpools.dispatcher(ledger).dispatch(placed)
    if waits:
        touch(parts, ledger.pool)


def touch(parts: Services, pool: str) -> None:
    parts.queue.touch([routing.pod_pool_key(*pool.split("/"))])


def hold_ms(parts: Services, pool: str) -> int:
    """How long a reservation of the pool lasts, as its spec says."""
    snapshot = parts.queue.snapshot(routing.pod_pool_key(*pool.split("/")))
    spec = snapshot.body.get("spec", {}) if snapshot and not snapshot.gone else {}
    default = str(PodPoolSpec.model_fields["reservation_ttl"].default)
    return int(length(spec.get("reservationTTL", default)).total_seconds() * 1000)
