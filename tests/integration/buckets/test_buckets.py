"""The token buckets in Redis: a place in the line, an honest time, and a share for everybody."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from redis import Redis

from tests.fixtures.aws import Aws
from tests.support.waiting import eventually
from workers.cloud.aws.settings import RateSettings, RatesSettings
from workers.cloud.call_budget import ApiClass, OverBudget
from workers.cloud.errors import Throttled
from workers.cloud.priority import Priority
from workers.stores.buckets import RedisBuckets, keep_of

WRITE, GROW = ApiClass.WRITE, Priority.GROW
BIND, UNBIND, REPAIR = Priority.BIND, Priority.UNBIND, Priority.REPAIR
MOMENT = timedelta(milliseconds=100)  # for the time that the test itself takes


def buckets(redis: Redis, per_second: float, burst: int, region: str = "us-east-1") -> RedisBuckets:
    return RedisBuckets(redis, "aws", region, RatesSettings(write=RateSettings(per_second=per_second, burst=burst)))


def granted(shared: RedisBuckets, priority: Priority, callers: int) -> int:
    """How many of so many new callers go at once."""
    return sum(shared.acquire(WRITE, f"{priority.name}-{n}", priority) is None for n in range(callers))


def refused(shared: RedisBuckets, caller: str, priority: Priority = BIND) -> timedelta:
    wait = shared.acquire(WRITE, caller, priority)
    assert wait is not None
    return wait


@pytest.mark.row("CL-03")
def test_a_burst_goes_at_once_and_not_one_call_more(redis: Redis) -> None:
    assert granted(buckets(redis, 0.01, 20), BIND, 30) == 20


def test_who_is_refused_waits_for_those_before_him(redis: Redis) -> None:
    shared = buckets(redis, 1, 5)
    granted(shared, BIND, 5)
    waits = [refused(shared, f"late-{n}") for n in range(4)]
    for place, wait in enumerate(waits, start=1):
        assert timedelta(seconds=place) - MOMENT <= wait <= timedelta(seconds=place)


def test_asking_again_too_early_changes_nothing(redis: Redis) -> None:
    shared = buckets(redis, 1, 5)
    granted(shared, BIND, 5)
    refused(shared, "first")
    second = refused(shared, "second")
    again = [refused(shared, "first") for _ in range(5)][-1]
    assert again <= timedelta(seconds=1)
    assert second - MOMENT <= refused(shared, "second") <= second


def test_who_comes_when_told_is_let_through(redis: Redis) -> None:
    shared = buckets(redis, 50, 5)
    granted(shared, BIND, 5)
    promises = {f"late-{n}": refused(shared, f"late-{n}").total_seconds() + time.monotonic() for n in range(25)}
    for caller, when in promises.items():
        time.sleep(max(0.0, when - time.monotonic()))
        assert shared.acquire(WRITE, caller, BIND) is None


def test_a_newcomer_does_not_overtake_the_line(redis: Redis) -> None:
    shared = buckets(redis, 20, 5)
    granted(shared, BIND, 5)
    wait = refused(shared, "waiting")
    time.sleep(wait.total_seconds())
    refused(shared, "newcomer")
    assert shared.acquire(WRITE, "waiting", BIND) is None


def test_who_never_comes_back_holds_nobody_up(redis: Redis) -> None:
    shared = buckets(redis, 2, 40)
    granted(shared, BIND, 40)
    for n in range(2):
        refused(shared, f"dead-{n}")
    wait = refused(shared, "alive")
    time.sleep(wait.total_seconds())
    assert shared.acquire(WRITE, "alive", BIND) is None


def test_a_place_is_forgotten_when_its_token_is_spilled(redis: Redis) -> None:
    shared = buckets(redis, 20, 5)
    granted(shared, BIND, 5)
    refused(shared, "dead")

    def forgotten() -> bool:
        shared.acquire(WRITE, "alive", BIND)
        return redis.zcard("{aws:us-east-1:write}line") == 0

    eventually(forgotten, timeout=10)


@pytest.mark.parametrize(
    ("per_second", "burst", "seconds"), [(4.0, 20, 4.995), (100.0, 1, 2.0), (0.1, 100, 60.0), (10.0, 40, 3.995)]
)
def test_a_place_is_kept_as_long_as_a_bucket_takes_to_fill(per_second: float, burst: int, seconds: float) -> None:
    assert keep_of(RateSettings(per_second=per_second, burst=burst)).total_seconds() == pytest.approx(seconds)


def test_binding_goes_before_unbinding_before_repair(redis: Redis) -> None:
    shared = buckets(redis, 1, 5)
    granted(shared, BIND, 5)
    waits = {priority: refused(shared, priority.name, priority) for priority in (REPAIR, UNBIND, BIND)}
    assert waits[BIND] < waits[UNBIND] < waits[REPAIR]
    assert waits[BIND] <= timedelta(seconds=1)


def test_a_load_balancer_that_pods_wait_for_goes_before_their_binding(redis: Redis) -> None:
    shared = buckets(redis, 1, 5)
    granted(shared, BIND, 5)
    bound = [refused(shared, f"pod-{n}") for n in range(20)]
    assert max(bound) > timedelta(seconds=19)
    assert refused(shared, "scale-up", GROW) <= timedelta(seconds=1)


def test_what_has_begun_is_finished_before_more_begins(redis: Redis) -> None:
    shared = buckets(redis, 1, 5)
    granted(shared, BIND, 5)
    begins = [refused(shared, f"pod-{n}") for n in range(20)]
    assert max(begins) > timedelta(seconds=19)
    assert refused(shared, "pod-0", Priority.FINISH) <= timedelta(seconds=1)


def test_lower_priorities_leave_tokens_for_higher_ones(redis: Redis) -> None:
    shared = buckets(redis, 0.01, 20)
    assert granted(shared, REPAIR, 20) == 10
    assert granted(shared, UNBIND, 20) == 5
    assert granted(shared, BIND, 20) == 5


@pytest.mark.parametrize("priority", [UNBIND, REPAIR])
def test_no_priority_starves_behind_a_more_urgent_one(redis: Redis, priority: Priority) -> None:
    shared = buckets(redis, 100, 5)
    granted(shared, BIND, 5)

    def let_through() -> bool:
        for n in range(20):
            shared.acquire(WRITE, f"urgent-{n}", BIND)
        return shared.acquire(WRITE, "patient", priority) is None

    eventually(let_through, timeout=10)


def test_classes_and_regions_have_their_own_tokens(redis: Redis) -> None:
    here, there = buckets(redis, 0.01, 1), buckets(redis, 0.01, 1, "eu-west-1")
    granted(here, BIND, 1)
    assert here.acquire(ApiClass.DESCRIBE, "other", BIND) is None
    assert there.acquire(WRITE, "other", BIND) is None


def test_all_workers_share_the_tokens(redis: Redis) -> None:
    one, other = buckets(redis, 0.01, 10), buckets(redis, 0.01, 10)
    assert granted(one, BIND, 6) + granted(other, UNBIND, 6) + granted(other, BIND, 6) == 10


@pytest.mark.row("CL-04")
def test_a_drained_bucket_fills_at_its_rate(redis: Redis) -> None:
    shared = buckets(redis, 1, 20)
    shared.drain(WRITE)
    assert timedelta(seconds=1) - MOMENT <= refused(shared, "next") <= timedelta(seconds=1)


@pytest.mark.row("CL-04")
def test_after_throttling_nobody_calls_until_there_are_tokens(redis: Redis, aws: Aws) -> None:
    driver = aws.driver(buckets(redis, 1, 20)).on_behalf_of("pod/a/b", BIND)
    aws.fault("DeleteListener", code="Throttling")
    with pytest.raises(Throttled):
        driver.delete_listener("arn")
    with pytest.raises(OverBudget):
        driver.delete_listener("arn")
    assert aws.counts() == {"DeleteListener": 1}


@pytest.mark.row("EV-10")
def test_a_flushed_redis_costs_one_burst_at_most(redis: Redis) -> None:
    shared = buckets(redis, 0.01, 10)
    granted(shared, BIND, 10)
    redis.flushall()
    assert granted(shared, BIND, 20) == 10


def test_idle_buckets_leave_nothing_behind(redis: Redis) -> None:
    shared = buckets(redis, 1, 1)
    granted(shared, BIND, 2)
    assert all(redis.pttl(key) > 0 for key in redis.keys("*"))
