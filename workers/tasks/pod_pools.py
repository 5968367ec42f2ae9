"""Tasks of jobs and pod pools: requests of other services, and periodic ticks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import structlog
from celery import current_task, shared_task

from berthmaster import routing
from berthmaster.errors import TransientError
from berthmaster.jobs.job import JobRecord, Limit, Placed, PoolLimits
from berthmaster.jobs.payloads import CancelJob, ConfirmJob, FinishJob, OfJob, SubmitJob
from berthmaster.jobs.runner_ledger import Change, NotVerified
from berthmaster.jobs.slot_ledger import PAUSE, NoSpecError, SlotLedger
from berthmaster.jobs.submission import Submission
from berthmaster.jobs.unreadable import UnreadableLedger
from berthmaster.kinds import POD_POOL
from berthmaster.redis.outage import OUTAGE
from berthmaster.spec import length
from domain.pod_pools.pod_pool import PodPoolSpec
from workers.celery_app.refused_submissions import tell_refusal
from workers.pod_pools.reconciler import PodPoolReconciler
from workers.stores.ticks import STEP, Keep, unkept
from workers.tasks.keys import KeyRuns, ReconcilingTask, discard_key
from workers.tasks.payloads import CheckedTask, Nothing, PayloadRefused, ReconcilePodPool, takes
from workers.tasks.ticking import once_a_period
from workers.telemetry.metrics import count_over_time
from workers.wiring.process import Services, services

log = structlog.get_logger()
POD_POOLS = KeyRuns(ReconcilePodPool, lambda parts: PodPoolReconciler(parts.podpools))
PATIENT: Final[dict[str, Any]] = {
    "autoretry_for": (TransientError, *OUTAGE),
    "retry_backoff": True,
    "retry_backoff_max": 30,
    "max_retries": 20,
}
"""A request must outlast a restart of Redis and the verification after it. A client that waits repeats it anyway."""
TRIES_WITHOUT_POOL: Final = 5
"""Retries, up to half a minute in all, until a job is refused whose pod pool does not exist: it may be on its way."""


@shared_task(name=POD_POOL.task, base=ReconcilingTask, keys=POD_POOLS)
@takes(ReconcilePodPool, discard_key)
def reconcile_pod_pool(request: ReconcilePodPool) -> None:
    """Reconcile one pod pool."""
    POD_POOLS.run(request)


class SubmittingTask(CheckedTask):
    """A task that submits a job. However it fails, its sender can read why (rule `refused`)."""

    def on_failure(self, exc: Exception, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:  # noqa: ARG002 - Celery's signature
        """Tell the sender. The details of a bug stay in the log: they may have a secret of the job."""
        expected = isinstance(exc, (PayloadRefused, TransientError, *OUTAGE))
        why = str(exc) if expected else f"a worker failed: {type(exc).__name__}"
        tell_refusal(services(), task_id, args, kwargs, why)


@shared_task(name=routing.SLOTS_SUBMIT, base=SubmittingTask, **PATIENT)
@takes(SubmitJob)
def submit(request: SubmitJob) -> None:
    """Accept a job, once per id, and give it a slot or a place in the queue."""
    tries = current_task.request.retries if current_task else 0
    take_in(services(), request.job, tries)


def take_in(parts: Services, job: Submission, tries: int) -> None:
    """Take a job in. `tries`: how often that was tried before. Raises PayloadRefused if there is no such pod pool."""
    ledger = parts.podpools.ledger(job.pool)
    try:
        record, placed = recorded(parts, ledger, job)
    except NotVerified:
        if tries >= TRIES_WITHOUT_POOL and parts.queue.is_absent(routing.pod_pool_key(*job.pool.split("/"))):
            log.warning("job_refused", pool=job.pool, job=job.id, reason="there is no such PodPool")
            raise PayloadRefused(f"job.pool: there is no PodPool {job.pool}") from None
        raise
    log.info("job_submitted", pool=ledger.pool, job=record.id, state=record.state, pod=record.uid)
    after(parts, ledger, placed, waits=record.state == "waiting")


def recorded(parts: Services, ledger: SlotLedger, job: Submission) -> tuple[JobRecord, tuple[Placed, ...]]:
    """Return the record of the job, and what must be sent."""
    try:
        return ledger.submit(job.job())
    except NoSpecError:  # no run of the pool has recorded it since Redis was new
        return ledger.submit(job.job(limits_of(parts, job.pool)))


@shared_task(name=routing.SLOTS_CONFIRM, **PATIENT)
@takes(ConfirmJob)
def confirm(request: ConfirmJob) -> None:
    """Let the next phase of a job run: a person has confirmed the plan."""
    confirmation = (request.id, request.plan, request.by)
    decide(request, "job_confirmed", lambda ledger: ledger.confirm(*confirmation))


@shared_task(name=routing.SLOTS_CANCEL, **PATIENT)
@takes(CancelJob)
def cancel(request: CancelJob) -> None:
    """Cancel a job. A started one keeps its slot until its runner reports that it stopped."""
    decide(request, "job_cancelled", lambda ledger: ledger.cancel(request.id, request.by))


@shared_task(name=routing.SLOTS_FINISH, **PATIENT)
@takes(FinishJob)
def finish(request: FinishJob) -> None:
    """Record the end of an attempt, for a runner that speaks Celery only."""
    ending = (request.id, request.phase, request.attempt, request.outcome, request.result)
    change_job(request, "job_finished", lambda ledger: ledger.finish(*ending))


def decide(request: ConfirmJob | CancelJob, event: str, of: Callable[[SlotLedger], Change]) -> None:
    """Change one job as somebody has decided, log who it was, and write the event of it."""
    change_job(request, event, of, **({"by": request.by} if request.by else {}))
    parts = services()
    parts.journal.job_events(parts.podpools.ledger(request.pool))


def change_job(request: OfJob, event: str, of: Callable[[SlotLedger], Change], **facts: str) -> None:
    """Change one job, log it as `event` with the facts, and dispatch the jobs that got a slot by that."""
    parts = services()
    ledger = parts.podpools.ledger(request.pool)
    change = of(ledger)
    log.info(event, pool=request.pool, job=request.id, taken=change.taken, state=change.state, **facts)
    after(parts, ledger, change.placed)


@shared_task(name=routing.SLOTS_SWEEP)
@takes(Nothing)
def sweep(_: Nothing) -> None:
    """Sweep all pools every 5 seconds: end what is over its time, place waiting jobs, repeat lost messages."""
    parts = services()
    period = parts.settings.slots.sweep_every
    once_a_period(parts.ticks, routing.SLOTS_SWEEP, period, lambda keep: sweep_pools(parts, keep))


@shared_task(name=routing.PODPOOLS_AUTOSCALE)
@takes(Nothing)
def autoscale(_: Nothing) -> None:
    """Make every pool reconcile every 15 seconds. One run of a pool is active at a time."""
    parts = services()
    period = parts.settings.slots.autoscale_every
    once_a_period(parts.ticks, routing.PODPOOLS_AUTOSCALE, period, lambda keep: touch_pools(parts, keep))


def sweep_pools(parts: Services, keep: Keep = unkept) -> None:
    """Sweep each pool. A fault of one does not stop the others. Raises StaleToken."""
    for pool in parts.podpools.names.all():
        keep(STEP)
        try:
            sweep_pool(parts, pool)
        except OUTAGE:
            raise
        except UnreadableLedger as error:
            log.warning("pool_unreadable", pool=pool, reason=str(error))
        except Exception:
            log.exception("pool_not_swept", pool=pool)


def sweep_pool(parts: Services, pool: str) -> None:
    """Sweep one pool, and write the events of its jobs. If its ledger is not verified, its own run comes first."""
    ledger = parts.podpools.ledger(pool)
    try:
        settings = parts.settings.slots
        swept = ledger.sweep(settings.remember, max(PAUSE, 4 * settings.sweep_every))
    except NotVerified:
        touch(parts, pool)
        return
    for job in swept.expired:
        log.warning("reservation_expired", pool=pool, job=job)
        count_over_time(pool, Limit.RESERVATION)
    for job, limit in swept.over_time:
        log.warning("job_over_time", pool=pool, job=job, limit=limit.value)
        count_over_time(pool, limit)
    for job in swept.unreadable:
        log.warning("job_record_unreadable", pool=pool, job=job)
    for job in swept.beside:
        log.error("serial_key_violated", pool=pool, job=job)
    after(parts, ledger, swept.placed)
    parts.journal.job_events(ledger)


def touch_pools(parts: Services, keep: Keep) -> None:
    """Make every pool reconcile. Raises StaleToken."""
    for pool in parts.podpools.names.all():
        keep(STEP)
        touch(parts, pool, slow=True)


def after(parts: Services, ledger: SlotLedger, placed: Iterable[Placed], *, waits: bool = False) -> None:
    """Dispatch the jobs that got a slot. A job that waits makes its pool reconcile at once, to grow if it must."""
    parts.podpools.dispatcher(ledger).dispatch(placed)
    if waits:
        touch(parts, ledger.pool)


def touch(parts: Services, pool: str, *, slow: bool = False) -> None:
    """Make one pool reconcile; `slow`: nobody waits for it."""
    parts.queue.touch([routing.pod_pool_key(*pool.split("/"))], slow=slow)


def limits_of(parts: Services, pool: str) -> PoolLimits:
    """Return the limits that the spec of the pool gives to its jobs."""
    snapshot = parts.queue.snapshot(routing.pod_pool_key(*pool.split("/")))
    spec = snapshot.body.get("spec", {}) if snapshot and not snapshot.gone else {}
    reservation = str(spec.get("reservationTTL", PodPoolSpec.model_fields["reservation_ttl"].default))
    queue, run = (length(spec[name]) if spec.get(name) else None for name in ("queueTimeout", "runTimeout"))
    return PoolLimits(length(reservation), queue, run)
