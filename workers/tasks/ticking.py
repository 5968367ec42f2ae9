"""Run a tick of beat: one worker acquires it a period, and it is skipped quietly while Redis or AWS is away."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import structlog

from berthmaster.errors import StaleToken, TransientError
from berthmaster.redis.outage import OUTAGE
from berthmaster.redis.refusals import warn
from events.kube.api import keeping
from workers.stores.ticks import Keep, Ticks
from workers.telemetry import metrics

log = structlog.get_logger()


def once_a_period(ticks: Ticks, task: str, period: timedelta, work: Callable[[Keep], None]) -> None:
    """Call `work` if this worker acquires the period's tick. A missed tick needs no repair: the next one comes.

    `work` keeps the tick before each of its steps; each page of a list of Kubernetes keeps it as well.
    """
    try:
        tick = ticks.acquire(task, period)
        metrics.TICKS.labels(task, "done" if tick else "skipped").inc()
        if not tick:
            return
        try:
            with keeping(tick.keep):
                work(tick.keep)
            ticks.record(task)
        finally:
            tick.end()
        if (seconds := tick.seconds()) > period.total_seconds():
            log.info("tick_took_more_than_its_period", task=task, seconds=round(seconds, 1))
    except StaleToken as error:
        log.warning("tick_lost", task=task, error=str(error))
    except (*OUTAGE, TransientError) as error:
        warn(log, "tick_missed", error, task=task)
