"""Mutexes in Redis: calls that create or delete on one load balancer never overlap, and nobody waits for the dead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from itertools import pairwise

import pytest
from redis import Redis

from berthmaster.redis.incarnation import connect
from tests.fixtures.aws import REGION, Aws
from tests.support.ports.unlimited import Unlimited
from tests.support.waiting import eventually
from workers.cloud.aws.nlb import aws_nlb
from workers.cloud.driver import GroupSettings, LoadBalancerApi
from workers.cloud.errors import CloudUnavailable
from workers.cloud.mutexes import MutexHeld
from workers.cloud.priority import Priority
from workers.stores.mutexes import RedisMutexes

TAGS = {"berthmaster.dev/cluster": "blue"}
LONG = timedelta(minutes=1)


@pytest.fixture
def workers(aws: Aws, redis: Redis, redis_url: str) -> Iterator[list[LoadBalancerApi]]:
    """Two, with a Redis connection each."""
    with connect(redis_url) as other:
        drivers = [aws_nlb(aws.settings, REGION, Unlimited(), RedisMutexes(each)) for each in (redis, other)]
        yield [
            each.on_behalf_of(f"pod/a/{n}", Priority.BIND, patience=timedelta(seconds=20))
            for n, each in enumerate(drivers)
        ]


def spans(aws: Aws, *actions: str) -> list[tuple[float, float]]:
    """When calls of the actions began and ended, by the server's clock."""
    calls = [call for action in actions for call in aws.calls(action)]
    return sorted((call["time"], call["time"] + call["seconds"]) for call in calls)


def overlaps(times: list[tuple[float, float]]) -> int:
    return sum(second[0] < first[1] for first, second in pairwise(times))


def balancer(aws: Aws, driver: LoadBalancerApi, name: str) -> str:
    return driver.create_load_balancer(name, aws.parameters, TAGS).arn


def at_once(jobs: list[Callable[[], object]]) -> None:
    with ThreadPoolExecutor(len(jobs)) as threads:
        for job in [threads.submit(job) for job in jobs]:
            job.result()


def listening(aws: Aws, driver: LoadBalancerApi, arn: str, port: int) -> Callable[[], object]:
    group = driver.ensure_target_group(f"bm-{port}", "TCP", 80, GroupSettings(aws.ids.vpc), TAGS)
    return lambda: driver.ensure_listener(arn, port, "TCP", group, TAGS)


@pytest.mark.row("CL-02")
def test_creates_and_deletes_of_all_workers_on_one_load_balancer_never_overlap(
    aws: Aws, workers: list[LoadBalancerApi]
) -> None:
    arn = balancer(aws, workers[0], "bm-a")
    at_once([listening(aws, workers[n % 2], arn, 30000 + n) for n in range(4)])
    old = workers[0].listeners(arn)
    aws.change(latency=0.05)
    jobs = [listening(aws, workers[n % 2], arn, 30010 + n) for n in range(4)]
    jobs += [partial(workers[n % 2].delete_listener, old[n].arn) for n in range(4)]
    at_once(jobs)
    times = spans(aws, "CreateListener", "DeleteListener")
    assert len(times) == 12
    assert overlaps(times) == 0
    assert [each.port for each in workers[0].listeners(arn)] == list(range(30010, 30014))


@pytest.mark.row("CL-02")
def test_two_load_balancers_do_not_wait_for_each_other(aws: Aws, workers: list[LoadBalancerApi]) -> None:
    arns = [balancer(aws, workers[0], name) for name in ("bm-a", "bm-b")]
    jobs = [listening(aws, workers[n], arns[n], 30000 + n) for n in range(2)]
    aws.fault("CreateListener", delay=0.5, times=2)
    at_once(jobs)
    assert overlaps(spans(aws, "CreateListener")) == 1


@pytest.mark.row("CL-02")
def test_who_does_not_get_the_mutex_gives_the_thread_back_and_has_sent_nothing(aws: Aws, redis: Redis) -> None:
    driver, mutexes = aws_nlb(aws.settings, REGION, Unlimited(), RedisMutexes(redis)), RedisMutexes(redis)
    arn = balancer(aws, driver, "bm-a")
    job = listening(aws, driver, arn, 30000)
    token = mutexes.acquire(arn, LONG)
    assert token
    with pytest.raises(MutexHeld) as refused:
        job()
    assert refused.value.retry_after
    assert "CreateListener" not in aws.counts()
    mutexes.release(arn, token)
    job()


@pytest.mark.row("CL-02")
def test_a_call_that_failed_releases_its_mutex(aws: Aws, workers: list[LoadBalancerApi]) -> None:
    arn = balancer(aws, workers[0], "bm-a")
    job = listening(aws, workers[0], arn, 30000)
    aws.fault("CreateListener", code="InternalFailure", status=500)
    with pytest.raises(CloudUnavailable):
        job()
    job()


@pytest.mark.row("CL-02")
def test_the_mutex_of_who_died_ends_by_itself(redis: Redis) -> None:
    mutexes = RedisMutexes(redis)
    assert mutexes.acquire("arn", timedelta(milliseconds=50))
    assert not mutexes.acquire("arn", LONG)
    eventually(lambda: bool(mutexes.acquire("arn", LONG)), timeout=5)


@pytest.mark.row("CL-02")
def test_who_releases_late_does_not_end_the_mutex_of_the_next(redis: Redis) -> None:
    mutexes = RedisMutexes(redis)
    late = mutexes.acquire("arn", timedelta(milliseconds=1))
    assert late
    eventually(lambda: bool(mutexes.acquire("arn", LONG)), timeout=5)
    mutexes.release("arn", late)
    assert not mutexes.acquire("arn", LONG)
