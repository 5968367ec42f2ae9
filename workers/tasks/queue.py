"""Sweeps of the workqueue: waits that are over, leases that ended, and hints that the broker lost."""

from __future__ import annotations

from datetime import timedelta

import structlog
from celery import shared_task

from berthmaster import routing
from berthmaster.redis.outage import OUTAGE
from berthmaster.redis.refusals import warn
from workers.tasks.payloads import Nothing, SweepLost, takes
from workers.tasks.ticking import once_a_period
from workers.wiring.process import Services, services

log = structlog.get_logger()
TICK = timedelta(seconds=1)


@shared_task(name=routing.QUEUE_TICK)
@takes(Nothing)
def tick(_: Nothing) -> None:
    """Every second: queue keys whose wait or lease is over, and now and then request the sweep for lost hints."""
    parts = services()
    once_a_period(parts.ticks, routing.QUEUE_TICK, TICK, lambda: sweep(parts))


def sweep(parts: Services) -> None:
    """Queue the keys whose wait or lease is over, and request the sweep for lost hints."""
    woken = parts.queue.sweep_due(parts.settings.queue.sweep_limit)
    log.debug("due_keys_queued", keys=woken)
    ask_for_lost(parts)


def ask_for_lost(parts: Services) -> None:
    """Send the request through the hints' own queue: when it arrives, every earlier hint has been delivered."""
    period = parts.settings.queue.sweep_lost_every
    if parts.ticks.acquire(routing.QUEUE_SWEEP_LOST, period):
        sent = parts.queue.ask_sweep_lost(period)
        if sent is not None:
            parts.sender.send(routing.QUEUE_SWEEP_LOST, sent)


@shared_task(name=routing.QUEUE_SWEEP_LOST)
@takes(SweepLost)
def sweep_lost(asked: SweepLost) -> None:
    """Repeat the hints that were sent before this message and that nobody has taken."""
    parts = services()
    try:
        lost = parts.queue.sweep_lost(asked.sent, parts.settings.queue.sweep_lost_limit)
    except OUTAGE as error:
        warn(log, "sweep_postponed", error, task=routing.QUEUE_SWEEP_LOST)
        return
    if lost:
        log.warning("lost_hints_repeated", keys=lost)
