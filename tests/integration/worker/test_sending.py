"""Tasks that are sent without a Celery application, and ticks that only one worker does."""

from __future__ import annotations

from datetime import timedelta

import pytest
from kombu import Connection
from redis import Redis

from berthmaster import routing
from berthmaster.broker.sending import Sender
from berthmaster.errors import TransientError
from berthmaster.redis.incarnation import connect
from compose.sandbox.redis_server import RedisServer
from events.workqueue import AHEAD, Mark, Workqueue
from tests.support.ready_keys import SENT
from tests.support.waiting import eventually
from workers.stores.tally import Tally
from workers.stores.ticks import REMEMBERED, Ticks
from workers.tasks.ticking import once_a_period

SECOND = timedelta(seconds=1)


def first_message(url: str, queue: str) -> tuple[str, list[object]]:
    """Task and arguments of the oldest message, as kombu reads it."""
    with Connection(url) as connection:
        message = connection.SimpleQueue(queue).get(timeout=5)
        message.ack()
        return message.headers["task"], message.payload[0]


def test_a_task_goes_to_the_queue_that_routing_names(redis_url: str) -> None:
    Sender(redis_url).send(routing.POOLS_SCALE_UP, "arena", "7", "token")
    assert first_message(redis_url, routing.MAINTENANCE) == (routing.POOLS_SCALE_UP, ["arena", "7", "token"])


def test_a_queue_whose_broker_is_elsewhere_sends_its_hints_there(redis: Redis, server: RedisServer) -> None:
    queue = Workqueue(redis, publish=Sender(server.url).hints)
    assert queue.assume_epoch("1:publisher")
    queue.marks("1:publisher", [Mark("pod/a/b", 1, "uid", gone=False, body=b"{}")], relist=True)
    assert queue.stamp("1:publisher")
    task, (hint,) = first_message(server.url, routing.LATENCY)
    assert (task, redis.zrange(SENT, 0, -1)) == (routing.QUEUE_DRAIN, [str(hint).encode()])


@pytest.mark.row("EV-11")
def test_a_broker_that_is_away_costs_a_bounded_time_and_no_exception(redis: Redis, server: RedisServer) -> None:
    queue = Workqueue(redis, publish=Sender(server.url).hints)
    assert queue.assume_epoch("1:publisher")
    assert queue.stamp("1:publisher")
    server.kill()
    queue.marks("1:publisher", [Mark(f"pod/a/{n}", 1, "uid", gone=False, body=b"{}") for n in range(50)])
    server.start()
    eventually(lambda: queue.forget(timedelta(0)) == AHEAD)  # what the tick finds later
    assert connect(server.url).llen(routing.LATENCY) == AHEAD


@pytest.mark.row("EV-12")
def test_a_period_s_tick_is_done_once_however_often_it_is_sent(redis: Redis) -> None:
    done: list[str] = []
    for _ in range(3):
        once_a_period(Ticks(redis), routing.QUEUE_TICK, SECOND, lambda _: done.append("tick"))
        once_a_period(Ticks(redis), routing.PORTS_SWEEP, SECOND, lambda _: done.append("sweep"))
    assert done == ["tick", "sweep"]


@pytest.mark.row("EV-12")
def test_the_next_period_has_its_own_tick_even_if_it_comes_a_little_early(redis: Redis) -> None:
    once_a_period(Ticks(redis), routing.QUEUE_TICK, SECOND, lambda _: None)
    assert 0 < redis.pttl(f"berthmaster:tick:{routing.QUEUE_TICK}") <= 900


@pytest.mark.row("TM-02")
def test_the_age_of_each_periodic_task_tells_of_work_that_is_done_and_of_no_other(redis: Redis) -> None:
    def fails(_: object) -> None:
        raise TransientError("AWS is away")

    tally = Tally(redis, (), {routing.QUEUE_TICK: SECOND, routing.PORTS_AUDIT: SECOND})
    once_a_period(Ticks(redis), routing.PORTS_AUDIT, SECOND, fails)
    once_a_period(Ticks(redis), routing.QUEUE_TICK, SECOND, lambda _: None)
    numbers = tally.read()
    ages = numbers["berthmaster_tick_age_seconds"]
    assert ages[routing.QUEUE_TICK,] < ages[routing.PORTS_AUDIT,] == REMEMBERED.total_seconds()
    assert set(numbers["berthmaster_tick_period_seconds"].values()) == {1.0}


@pytest.mark.row("EV-11")
def test_a_tick_while_redis_is_away_is_missed_quietly(server: RedisServer) -> None:
    ticks = Ticks(connect(server.url))
    server.kill()
    once_a_period(ticks, routing.QUEUE_TICK, SECOND, lambda _: None)
