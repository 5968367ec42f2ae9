"""The times of cron expressions, also where the clock changes: compared with a clock that is read minute by minute."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain.pod_pools.cron import CronError, CronTimes, cron_times

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NONE = timedelta(0)
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
ZONES = [
    ZoneInfo(name)
    for name in (
        "America/New_York",
        "Europe/Berlin",
        "America/Santiago",  # changes at midnight
        "America/Havana",
        "Australia/Lord_Howe",  # by half an hour
        "Africa/Casablanca",
        "Asia/Kolkata",  # never changes
    )
]


def offset(time: datetime, zone: ZoneInfo) -> timedelta:
    return time.astimezone(zone).utcoffset() or NONE


def changes(zone: ZoneInfo) -> Iterator[datetime]:
    """The hours of 2026 after which the clock has changed."""
    hours = (NEW_YEAR + n * HOUR for n in range(365 * 24))
    yield from (after for before, after in pairwise(hours) if offset(before, zone) != offset(after, zone))


CHANGES = [(zone, time) for zone in ZONES for time in (*changes(zone), NEW_YEAR + 100 * DAY)]


@dataclass(frozen=True)
class Field:
    text: str
    values: frozenset[int]


def field(most: int) -> st.SearchStrategy[Field]:
    listed = st.sets(st.integers(0, most), min_size=1, max_size=4).map(
        lambda values: Field(",".join(map(str, sorted(values))), frozenset(values))
    )
    steps = st.sampled_from([1, 2, 5, 15, 20]).map(
        lambda step: Field("*" if step == 1 else f"*/{step}", frozenset(range(0, most + 1, step)))
    )
    every = st.just(Field(f"0-{most}", frozenset(range(most + 1))))
    return listed | steps | every


@dataclass(frozen=True)
class Minute:
    """A minute, what the clock shows, whether it has shown that before, and what it has skipped right before."""

    time: datetime
    wall: datetime
    again: bool
    skipped: tuple[datetime, ...]


@cache
def minutes_around(zone: ZoneInfo, changed: datetime) -> tuple[Minute, ...]:
    return tuple(minute_of(zone, changed + n * MINUTE) for n in range(-2 * 1440, 3 * 1440))


def minute_of(zone: ZoneInfo, time: datetime) -> Minute:
    local = time.astimezone(zone)
    wall, skipped = local.replace(tzinfo=None, fold=0), offset(time, zone) - offset(time - MINUTE, zone)
    return Minute(time, wall, bool(local.fold), tuple(wall - n * MINUTE for n in range(1, skipped // MINUTE + 1)))


def comes(minutes: Field, hours: Field) -> Callable[[Minute], bool]:
    """Whether the expression comes in a minute."""
    follows = minutes.text.startswith("*") or hours.text.startswith("*")

    def matches(wall: datetime) -> bool:
        return wall.minute in minutes.values and wall.hour in hours.values

    def at(minute: Minute) -> bool:
        if follows:
            return matches(minute.wall)
        return (matches(minute.wall) and not minute.again) or any(map(matches, minute.skipped))

    return at


@pytest.mark.row("SD-36")
@settings(max_examples=40)
@given(st.sampled_from(CHANGES), field(59), field(23))
@example((ZONES[0], datetime(2026, 3, 8, 7, tzinfo=UTC)), Field("30", frozenset([30])), Field("2", frozenset([2])))
@example((ZONES[0], datetime(2026, 11, 1, 6, tzinfo=UTC)), Field("30", frozenset([30])), Field("1", frozenset([1])))
@example(
    (ZONES[0], datetime(2026, 11, 1, 6, tzinfo=UTC)), Field("*/20", frozenset([0, 20, 40])), Field("1", frozenset([1]))
)
def test_the_last_and_the_next_time_are_those_that_a_clock_shows(
    change: tuple[ZoneInfo, datetime], minutes: Field, hours: Field
) -> None:
    zone, changed = change
    at = comes(minutes, hours)
    times = [minute.time for minute in minutes_around(zone, changed) if at(minute)]
    for n in range(-140, 150, 11):
        now = changed + n * MINUTE
        position = bisect_right(times, now)
        found = cron_times(f"{minutes.text} {hours.text} * * *", zone, now + timedelta(seconds=31))
        assert found == CronTimes(times[position - 1], times[position])


@pytest.mark.row("SD-36")
def test_a_time_in_the_hour_that_comes_twice_comes_once() -> None:
    """The zones of cronsim name a next time in the past here, and a last time of the day before."""
    zone, second_pass = ZONES[0], datetime(2026, 11, 1, 6, 15, tzinfo=UTC)
    times = cron_times("30 1 * * *", zone, second_pass)
    assert times.last == second_pass - 45 * MINUTE
    assert times.next == second_pass + DAY + 15 * MINUTE


@pytest.mark.row("SD-36")
def test_an_expression_may_come_rarely_or_never() -> None:
    leap = cron_times("0 0 29 2 *", ZONES[1], NEW_YEAR)
    assert leap == CronTimes(datetime(2024, 2, 28, 23, tzinfo=UTC), datetime(2028, 2, 28, 23, tzinfo=UTC))
    assert cron_times("* * */20 * 1L", ZONES[1], NEW_YEAR) == CronTimes(None, None)


@pytest.mark.row("SD-37")
@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("60 0 * * *", "Bad minute"),
        ("0 0 30 2 *", "Bad day-of-month"),
        ("0 0 * * MOON", "Bad day-of-week"),
        ("*/0 * * * *", "Bad minute"),
        ("5-1 * * * *", "Bad minute"),
        ("0 0 * *", "Wrong number of fields"),
    ],
)
def test_what_is_no_expression_is_refused_with_the_field(expression: str, why: str) -> None:
    with pytest.raises(CronError, match=why):
        cron_times(expression, ZONES[0], NEW_YEAR)


@given(st.text("0123456789*,/#-LWMONJAN ", max_size=30))
def test_nothing_that_people_write_is_worse_than_refused(expression: str) -> None:
    try:
        times = cron_times(expression, ZONES[0], NEW_YEAR)
    except CronError:
        return
    assert not times.last or times.last <= NEW_YEAR
    assert not times.next or times.next > NEW_YEAR
