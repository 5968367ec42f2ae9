"""The times of a cron expression in a time zone: which came last, and which comes next. Pure.

cronsim reads the expression and lists times of a wall clock without a zone. Its own zones are not used: near a change
of the clock its next time may lie in the past, and its last time may be one of another day. As in Debian's cron, a time
that the clock skips comes when the clock goes on, and a time that comes twice counts once. An expression whose minute
or hour begins with `*` follows the clock instead: it has no time that is skipped, and both that come twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
ZERO = timedelta(0)


class CronError(ValueError):
    """The expression means nothing. The message says which of its fields is wrong."""


def parse_cron(expression: str) -> None:
    """Raises CronError for an expression that cron cannot read."""
    try:
        CronSim(expression, datetime(2000, 1, 1))  # noqa: DTZ001 - a wall clock without a zone
    except CronSimError as error:
        raise CronError(str(error)) from error


@dataclass(frozen=True)
class CronTimes:
    """`last`: the latest time that has come, and `next`: the first that has not. None without one in fifty years."""

    last: datetime | None
    next: datetime | None


def cron_times(expression: str, zone: ZoneInfo, now: datetime) -> CronTimes:
    """The times around `now`, in UTC. Raises CronError."""
    return _cron_times(expression, zone, now.astimezone(UTC).replace(second=0, microsecond=0))


@lru_cache(maxsize=1024)
def _cron_times(expression: str, zone: ZoneInfo, minute: datetime) -> CronTimes:
    """All times are whole minutes, so that pools ask the expression once a minute."""
    parse_cron(expression)
    clock = _Clock(expression, zone)
    return CronTimes(clock.last(minute), clock.next(minute))


@dataclass(frozen=True)
class _Clock:
    expression: str
    zone: ZoneInfo

    def last(self, now: datetime) -> datetime | None:
        """Of an hour that comes twice, times of the first pass may show more on the clock than `now` does."""
        wall, repeated = self._wall(now), max(self._offset(now - DAY) - self._offset(now), ZERO)
        last = None
        for time in CronSim(self.expression, wall + repeated + MINUTE, reverse=True):
            come = [moment for moment in self._moments(time) if moment <= now]
            last = max([*come, last] if last else come, default=None)
            if come and time <= wall:
                break
        return last

    def next(self, now: datetime) -> datetime | None:
        """Of an hour that will come twice, times of the second pass may show less on the clock than `now` does."""
        wall, repeats = self._wall(now), max(self._offset(now) - self._offset(now + DAY), ZERO)
        first = None
        for time in CronSim(self.expression, wall - repeats):
            coming = [moment for moment in self._moments(time) if moment > now]
            first = min([*coming, first] if first else coming, default=None)
            if coming and time > wall:
                break
        return first

    def _wall(self, now: datetime) -> datetime:
        return now.astimezone(self.zone).replace(tzinfo=None, fold=0)

    def _offset(self, now: datetime) -> timedelta:
        return now.astimezone(self.zone).utcoffset() or ZERO

    def _moments(self, time: datetime) -> tuple[datetime, ...]:
        """When a time of the wall clock comes, in UTC."""
        first, second = self._both(time)
        if first > second:
            return () if self._follows_clock else (self._end_of_gap(time),)
        return (first, second) if self._follows_clock else (first,)

    def _end_of_gap(self, time: datetime) -> datetime:
        while self._both(time)[0] > self._both(time)[1]:
            time += MINUTE
        return self._both(time)[0]

    def _both(self, time: datetime) -> tuple[datetime, datetime]:
        """The first comes after the second if the clock skips the time."""
        first, second = (time.replace(tzinfo=self.zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        return first, second

    @property
    def _follows_clock(self) -> bool:
        return any(field.startswith("*") for field in self.expression.split()[:2])
