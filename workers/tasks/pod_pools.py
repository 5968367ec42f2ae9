"""Tasks of jobs and pod pools: requests of other services, and periodic ticks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import structlog
from celery import shared_task

from berthmaster import routing
from berthmaster.errors import TransientError
from berthmaster.jobs.job import Placed
from berthmaster.jobs.payloads import CancelJob, ConfirmJob, FinishJob, OfJob, SubmitJob
from berthmaster.jobs.runner_ledger import Change, NotVerified
from berthmaster.jobs.slot_ledger import PAUSE, SlotLedger
from berthmaster.jobs.unreadable import UnreadableLedger
from berthmaster.kinds import POD_POOL
from berthmaster.redis.outage import OUTAGE
from berthmaster.spec import length
from domain.pod_pools.pod_pool import PodPoolSpec
from workers.pod_pools.reconciler import PodPoolReconciler
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
"""A request must outlast a restart of Redis and the verification after it. A client that waits repeats it anyway."""


@shared_task(name=POD_POOL.task)
@takes(ReconcilePodPool, discard_key)
def reconcile_pod_pool(request: ReconcilePodPool) -> None:
    """Reconcile one pod pool."""
    parts = services()
    reconcile_key(parts, request, PodPoolReconciler(parts.podpools))


@shared_task(name=routing.SLOTS_SUBMIT, **PATIENT)
@takes(SubmitJob)
def submit(request: SubmitJob) -> None:
    """Accept a job, once per id, and give it a slot or a place in the queue."""
    parts = services()
    ledger = parts.podpools.ledger(request.job.pool)
    record, placed = ledger.submit(request.job.job(hold_ms(parts, request.job.pool)))
    log.info("job_submitted", pool=ledger.pool, job=record.id, state=record.state, pod=record.uid)
    after(parts, ledger, placed, waits=record.state == "waiting")


@shared_task(name=routing.SLOTS_CONFIRM, **PATIENT)
@takes(ConfirmJob)
def confirm(request: ConfirmJob) -> None:
    """Let the next phase of a job run: a person has confirmed the plan."""
    change_job(request, "job_confirmed", lambda ledger: ledger.confirm(request.id, request.plan))


@shared_task(name=routing.SLOTS_CANCEL, **PATIENT)
@takes(CancelJob)
def cancel(request: CancelJob) -> None:
    """Cancel a job. A started one keeps its slot until its runner reports that it stopped."""
    change_job(request, "job_cancelled", lambda ledger: ledger.cancel(request.id))


@shared_task(name=routing.SLOTS_FINISH, **PATIENT)
@takes(FinishJob)
def finish(request: FinishJob) -> None:
    """Record the end of an attempt, for a runner that speaks Celery only."""
    ending = (request.id, request.phase, request.attempt, request.outcome, request.result)
    change_job(request, "job_finished", lambda ledger: ledger.finish(*ending))


def change_job(request: OfJob, event: str, of: Callable[[SlotLedger], Change]) -> None:
    """Change one job, log it as `event`, and dispatch the jobs that got a slot by that."""
    parts = services()
    ledger = parts.podpools.ledger(request.pool)
    change = of(ledger)
    log.info(event, pool=request.pool, job=request.id, taken=change.taken, state=change.state)
    after(parts, ledger, change.placed)


@shared_task(name=routing.SLOTS_SWEEP)
@takes(Nothing)
def sweep(_: Nothing) -> None:
    """Sweep all pools every 5 seconds: end late reservations, place waiting jobs, repeat lost messages."""
    parts = services()
    once_a_period(parts.ticks, routing.SLOTS_SWEEP, parts.settings.slots.sweep_every, lambda: sweep_pools(parts))


@shared_task(name=routing.PODPOOLS_AUTOSCALE)
@takes(Nothing)
def autoscale(_: Nothing) -> None:
    """Make every pool reconcile every 15 seconds. One run of a pool is active at a time."""
    parts = services()
    period = parts.settings.slots.autoscale_every
    once_a_period(parts.ticks, routing.PODPOOLS_AUTOSCALE, period, lambda: touch_pools(parts))


def sweep_pools(parts: Services) -> None:
    """Sweep each pool. A fault of one does not stop the others."""
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
    """Sweep one pool. If its ledger is not verified, its own run comes first."""
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
    """Make every pool reconcile."""
    for pool in parts.podpools.names.all():
        touch(parts, pool)


def after(parts: Services, ledger: SlotLedger, placed: Iterable[Placed], *, waits: bool = False) -> None:
    """Dispatch the jobs that got a slot. A job that waits makes its pool reconcile at once, to grow if it must."""
    parts.podpools.dispatcher(ledger).dispatch(placed)
    if waits:
        touch(parts, ledger.pool)


def touch(parts: Services, pool: str) -> None:
    """Make one pool reconcile."""
    parts.queue.touch([routing.pod_pool_key(*pool.split("/"))])


def hold_ms(parts: Services, pool: str) -> int:
    """How long a reservation of the pool lasts by its spec, in milliseconds."""
    snapshot = parts.queue.snapshot(routing.pod_pool_key(*pool.split("/")))
    spec = snapshot.body.get("spec", {}) if snapshot and not snapshot.gone else {}
    default = str(PodPoolSpec.model_fields["reservation_ttl"].default)
    return int(length(spec.get("reservationTTL", default)).total_seconds() * 1000)
