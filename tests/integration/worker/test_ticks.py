"""Ticks whose work takes longer than their period: one worker at a time does it, however long that is."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from redis import Redis
from structlog.testing import capture_logs

from berthmaster import routing
from berthmaster.errors import StaleToken
from events.kube.api import before_page
from workers.stores.acquired_keys import AcquiredKeys
from workers.stores.ticks import REMEMBERED, STEP, Keep, Tick, Ticks, age, done_key
from workers.tasks.ticking import once_a_period

KEY = f"berthmaster:tick:{routing.PORTS_AUDIT}"
MINUTE = timedelta(minutes=1)


class PassingTime:
    """The clock of all workers; `passes` also takes the time off the key of the tick, as Redis does."""

    def __init__(self, redis: Redis) -> None:
        self._redis, self._now = redis, 0.0

    def __call__(self) -> float:
        return self._now

    def passes(self, seconds: float) -> None:
        self._now += seconds
        self._redis.pexpire(KEY, max(0, self._redis.pttl(KEY) - round(seconds * 1000)))


@pytest.fixture
def time(redis: Redis) -> PassingTime:
    return PassingTime(redis)


@pytest.fixture
def ticks(redis: Redis, time: PassingTime) -> Ticks:
    return Ticks(redis, time)


def acquired(ticks: Ticks) -> Tick:
    tick = ticks.acquire(routing.PORTS_AUDIT, MINUTE)
    assert tick
    return tick


def refused(ticks: Ticks) -> bool:
    return ticks.acquire(routing.PORTS_AUDIT, MINUTE) is None


@pytest.mark.row("EV-32")
def test_a_tick_that_comes_while_its_work_goes_on_is_skipped(ticks: Ticks, time: PassingTime) -> None:
    """Rule tick-kept."""
    done: list[bool] = []

    def work(keep: Keep) -> None:
        for _ in range(30):  # two and a half periods
            time.passes(5)
            done.append(refused(ticks))
            keep(STEP)

    once_a_period(ticks, routing.PORTS_AUDIT, MINUTE, work)
    assert done == [True] * 30


@pytest.mark.row("EV-32")
def test_the_lists_of_a_tick_keep_it(ticks: Ticks, time: PassingTime) -> None:
    """Rule tick-kept."""
    done: list[bool] = []

    def work(_: Keep) -> None:
        for _page in range(12):
            before_page.get()(timedelta(seconds=10))
            time.passes(10)
            done.append(refused(ticks))

    once_a_period(ticks, routing.PORTS_AUDIT, MINUTE, work)
    assert done == [True] * 12


@pytest.mark.row("EV-32")
def test_who_was_slower_than_its_tick_neither_keeps_nor_ends_that_of_the_next(ticks: Ticks, time: PassingTime) -> None:
    """Rule tick-owner."""
    late = acquired(ticks)
    time.passes(60)
    acquired(ticks)
    with pytest.raises(StaleToken):
        late.keep(STEP)
    late.end()
    assert refused(ticks)


@pytest.mark.row("EV-32")
def test_work_whose_tick_is_another_s_stops_and_says_so(redis: Redis, ticks: Ticks, time: PassingTime) -> None:
    """Rule tick-owner."""
    steps: list[str] = []

    def work(keep: Keep) -> None:
        time.passes(60)
        acquired(ticks)
        steps.append("first")
        keep(STEP)
        steps.append("second")

    with capture_logs() as logs:
        once_a_period(ticks, routing.PORTS_AUDIT, MINUTE, work)
    assert steps == ["first"]
    assert [(line["event"], line["task"]) for line in logs] == [("tick_lost", routing.PORTS_AUDIT)]
    assert age(redis.pttl(done_key(routing.PORTS_AUDIT))) == REMEMBERED.total_seconds()


@pytest.mark.row("EV-32")
def test_a_tick_that_has_ended_and_is_nobody_s_is_kept(ticks: Ticks, time: PassingTime) -> None:
    late = acquired(ticks)
    time.passes(60)
    late.keep(STEP)
    assert refused(ticks)


@pytest.mark.row("EV-32")
def test_a_tick_whose_work_was_short_lasts_for_its_period(ticks: Ticks, time: PassingTime) -> None:
    """Rule tick-end."""
    once_a_period(ticks, routing.PORTS_AUDIT, MINUTE, lambda _: time.passes(10))
    time.passes(43)
    assert refused(ticks)
    time.passes(2)
    assert not refused(ticks)


@pytest.mark.row("EV-32")
def test_the_first_tick_after_work_that_took_longer_than_its_period_is_done(ticks: Ticks, time: PassingTime) -> None:
    """Rule tick-end."""

    def work(keep: Keep) -> None:
        for _ in range(20):
            time.passes(5)
            keep(timedelta(seconds=20))

    with capture_logs() as logs:
        once_a_period(ticks, routing.PORTS_AUDIT, MINUTE, work)
    assert [(line["event"], line["seconds"]) for line in logs] == [("tick_took_more_than_its_period", 100.0)]
    assert not refused(ticks)


@pytest.mark.row("EV-32")
def test_work_that_fails_keeps_its_period_too(ticks: Ticks, time: PassingTime) -> None:
    def work(_: Keep) -> None:
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        once_a_period(ticks, routing.PORTS_AUDIT, MINUTE, work)
    time.passes(53)
    assert refused(ticks)
    time.passes(2)
    assert not refused(ticks)


def test_who_asks_again_because_the_reply_was_lost_has_acquired_the_key(redis: Redis) -> None:
    ask = partial(AcquiredKeys(redis).acquire, KEY, length=MINUTE)
    assert ask("mine") == ask("mine") == "mine-60000"
    assert ask("another") is None
