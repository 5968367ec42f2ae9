"""Beat's schedule: Celery's own, on a monotonic clock, with a heartbeat that shows whether ticks are sent in time.

Celery's schedule compares wall-clock times: after the clock was set back by an hour, no entry is due for an hour. And a
schedule in memory starts each entry's period anew, so that a beat that restarts more often than the period never sends
it. Here every entry is due at the start, then once a period of the monotonic clock. Repeated ticks do no harm: one
worker acquires each tick (workers/stores/ticks.py).
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from celery.beat import ScheduleEntry, Scheduler
from celery.schedules import BaseSchedule, schedule

from berthmaster.broker.address import broker_refusal
from berthmaster.redis.client import connect_briefly, unusable
from berthmaster.redis.identity import Identity
from berthmaster.redis.unusable import UNUSABLE, UnusableRedis
from workers.settings import WorkerSettings
from workers.telemetry import heartbeat

LOOK_EVERY: Final = 60
"""Ticks between two checks of whether Redis may be used."""

ORIGIN: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""The date that stands for zero of the monotonic clock, as Celery counts in dates."""
LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
LATE: Final = 10.0
"""Seconds beyond two periods after which an entry that was not sent is late: a publish to a slow broker takes some."""


def steady_now() -> datetime:
    """A date that advances evenly, even when the wall clock is set."""
    return ORIGIN + timedelta(seconds=time.monotonic())


class SteadyEntry(ScheduleEntry):
    """An entry that is due when beat starts, and once a period after that."""

    def __init__(self, *, schedule: BaseSchedule | float, last_run_at: datetime | None = None, **rest: Any) -> None:
        super().__init__(schedule=steady(schedule), last_run_at=last_run_at or LONG_AGO, **rest)


def steady(period: BaseSchedule | float) -> BaseSchedule:
    """Return Celery's schedule on the monotonic clock; one that is on it already is returned unchanged."""
    return period if isinstance(period, BaseSchedule) else schedule(period, nowfun=steady_now)


class Schedule(Scheduler):
    """The schedule. Touches the heartbeat file while every entry is sent in time.

    A beat that hangs in a call, whose messages nobody takes, or that leaves one entry out touches nothing. Beat ends
    when its Redis must not be used.
    """

    Entry = SteadyEntry

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        settings = WorkerSettings()
        self._redis, self._ticks = connect_briefly(settings.redis, Identity(settings.cluster)), 0
        self._refuse(unusable(self._redis) or broker_refusal(settings.broker_url))
        self._sent: dict[str, float] = {}
        self._file = heartbeat.of_beat(settings.celery.heartbeat_file)
        heartbeat.forget(self._file)

    def tick(self, *arguments: Any, **options: Any) -> float:
        """Send what is due. Returns the seconds until the next tick."""
        self._ticks += 1
        if self._ticks % LOOK_EVERY == 0:
            self._refuse(unusable(self._redis))
        wait: float = super().tick(*arguments, **options)
        if not self.late(time.monotonic()):
            heartbeat.beat(self._file)
        return wait

    @staticmethod
    def _refuse(refusal: UnusableRedis | None) -> None:
        if refusal:
            sys.stderr.write(f"{refusal}\n")
            raise SystemExit(UNUSABLE)

    def apply_async(self, entry: Any, *arguments: Any, **options: Any) -> Any:
        """Send an entry. Raises SchedulingError when the broker does not take the message."""
        reply = super().apply_async(entry, *arguments, **options)
        self._sent[entry.name] = time.monotonic()
        return reply

    def late(self, now: float) -> list[str]:
        """Return the entries that were never sent, or too long ago; `now` as in `time.monotonic()`."""
        entries: dict[str, Any] = self.schedule
        longest = {name: 2 * entry.schedule.seconds + LATE for name, entry in entries.items()}
        return [name for name, seconds in longest.items() if now - self._sent.get(name, -seconds) >= seconds]
