"""The workqueue's own tasks: drain what is ready, and every second look for what nobody would come back to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import structlog
from celery import current_task, shared_task

from berthmaster import routing, tracing
from events.workqueue import LeasedKey
from workers.celery_app.unbegun import asked_to_end
from workers.drain import QueueDrain, Report, Slice
from workers.reconcile import Ending, Reconciler
from workers.stores.ticks import STEP, Keep
from workers.tasks.keys import ReconcilingTask
from workers.tasks.payloads import BeginDrain, Nothing, takes
from workers.tasks.ticking import once_a_period
from workers.telemetry.task_summary import summarise_key
from workers.wiring.process import Services, services

log = structlog.get_logger()
TICK = timedelta(seconds=1)


@shared_task(name=routing.QUEUE_DRAIN)
@takes(BeginDrain)
def drain(asked: BeginDrain) -> None:
    """Reconcile ready keys, one after the other. A hint that is lost, doubled or late does no harm."""
    parts = services()
    settings = parts.settings.queue
    limits = Slice(settings.drain_keys, settings.drain_time)
    QueueDrain(parts.queue, ServingWorker(parts), settings.retry.policy(), settings.lease, limits).serve(asked.hint)


@shared_task(name=routing.QUEUE_TICK)
@takes(Nothing)
def tick(_: Nothing) -> None:
    """Every second: make keys ready whose wait or lease is over, and replace hints that were lost."""
    parts = services()
    once_a_period(parts.ticks, routing.QUEUE_TICK, TICK, lambda keep: sweep(parts, keep))


def sweep(parts: Services, keep: Keep) -> None:
    """Make the keys ready whose wait or lease is over, and forget hints that no drain has begun."""
    woken = parts.queue.sweep_due(parts.settings.queue.sweep_limit)
    log.debug("due_keys_queued", keys=woken)
    keep(STEP)
    if lost := parts.queue.forget(parts.settings.queue.hint_lost_after):
        log.info("lost_hints_replaced", hints=lost)


class ServingWorker:
    """What a drain asks this worker process for. Use it within a task."""

    def __init__(self, parts: Services) -> None:
        self._parts = parts

    def reconciler(self, key: str) -> Reconciler | None:
        """Return the reconciler of the key's kind, None for a key that no reconciler accepts."""
        task = current_task.app.tasks.get(task_of(key))
        if isinstance(task, ReconcilingTask) and task.keys.accepts(key):
            return task.keys.build(self._parts)
        return None

    @contextmanager
    def run_of(self, key: LeasedKey) -> Iterator[Report]:
        """Trace the run of a key, and show it as a task."""
        task = task_of(key.key)
        with tracing.span(task, key.trace, key=key.key), summarise_key(task, key.key, key.token) as summary:

            def report(ending: Ending | None) -> None:
                summary.outcome = ending.name if ending else "stale"
                summary.error = ending.error if ending and ending.name == "failed" else None

            yield report

    def stopping(self) -> bool:
        """Tell whether the worker was asked to end. A child of prefork is not told, and ends with its slice."""
        return asked_to_end()


def task_of(key: str) -> str:
    """Return the task of the key's kind, or a name that no task has."""
    return routing.RECONCILERS.get(key.partition("/")[0], "no kind")
