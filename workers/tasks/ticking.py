"""Run a tick of beat: one worker acquires it a period, and it is skipped quietly while Redis or AWS is away."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import structlog

from berthmaster.errors import TransientError
from berthmaster.redis.outage import OUTAGE
from berthmaster.redis.refusals import warn
from workers.stores.ticks import Ticks
from workers.telemetry import metrics

log = structlog.get_logger()


def once_a_period(ticks: Ticks, task: str, period: timedelta, work: Callable[[], None]) -> None:
    """Call `work` if this worker acquires the period's tick. A missed tick needs no repair: the next one comes."""
    try:
        mine = ticks.acquire(task, period)
        metrics.TICKS.labels(task, "done" if mine else "skipped").inc()
        if mine:
            work()
            ticks.record(task)
    except (*OUTAGE, TransientError) as error:
        warn(log, "tick_missed", error, task=task)
