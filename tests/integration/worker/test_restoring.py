"""The look for messages of dead workers, on kombu's channels to a real Redis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from kombu import Connection
from kombu.transport.redis import QoS
from redis import Redis

from berthmaster.celery import restoring, transport_guard
from berthmaster.runner import mutex
from tests.support.waiting import eventually

QUEUE, INDEX, OVERDUE = "looked-at", "unacked_index", 1.0
LOOK_ENDS = 0.001
"""Seconds of a lock under which no look gives back MANY messages."""
MANY = 300


@pytest.fixture
def connection(redis_url: str) -> Iterator[Connection]:
    with Connection(redis_url, transport_options={"unacked_mutex_expire": LOOK_ENDS}) as made:
        yield made


def deliver(connection: Connection, messages: int = 1) -> Any:
    """A channel that has the messages, as a worker has them that runs their tasks."""
    channel: Any = connection.channel()
    for number in range(messages):
        connection.SimpleQueue(QUEUE).put(number)
        assert channel.basic_get(QUEUE)
    return channel


def by_kombu(_client: Any, qos: Any, tag: Any, _since: float) -> None:
    qos.restore_by_tag(tag)


def look_that_stood_still(redis: Redis, connection: Connection, give_back: Callable[..., None]) -> int:
    """One look lists a message, another gives it back, a worker takes it, and the first goes on.

    Returns how many messages are in the queue then.
    """
    dead: Any = deliver(connection)
    living: Any = connection.channel()
    client: Any = redis
    for tag in client.zrange(INDEX, 0, -1):
        client.zadd(INDEX, {tag: OVERDUE})
    [(tag, since)] = restoring.listed(client, dead.qos, OVERDUE, offset=0, num=10)
    restoring.give_back(client, dead.qos, tag, since)
    assert living.basic_get(QUEUE)
    give_back(client, dead.qos, tag, since)
    return int(client.llen(QUEUE))


@pytest.mark.row("EV-14")
def test_kombu_alone_still_takes_a_message_from_a_worker_that_lives(redis: Redis, connection: Connection) -> None:
    assert look_that_stood_still(redis, connection, by_kombu) == 1  # no failure: remove the guard `restore_visible`


@pytest.mark.row("EV-14")
def test_a_look_that_stood_still_leaves_a_message_that_was_delivered_again(
    redis: Redis, connection: Connection
) -> None:
    assert look_that_stood_still(redis, connection, restoring.give_back) == 0
    assert redis.hlen("unacked") == 1


@pytest.mark.row("EV-14")
def test_a_message_that_was_acknowledged_meanwhile_is_left_alone(redis: Redis, connection: Connection) -> None:
    channel = deliver(connection)
    client: Any = redis
    [(tag, since)] = client.zrange(INDEX, 0, -1, withscores=True)
    channel.qos.ack(tag.decode())
    restoring.give_back(client, channel.qos, tag, since)
    assert [client.llen(QUEUE), client.hlen("unacked")] == [0, 0]


@pytest.mark.row("EV-14")
@pytest.mark.parametrize("num", [MANY, None])
def test_a_look_ends_before_its_lock_and_the_next_ones_go_on(
    redis: Redis, connection: Connection, num: int | None
) -> None:
    transport_guard.install()
    assert QoS.restore_visible is restoring.restore_visible
    mutex.install()  # a runner's: it is where a lock that has run out is met
    channel = deliver(connection, MANY)
    client: Any = redis
    for tag in client.zrange(INDEX, 0, -1):
        client.zadd(INDEX, {tag: OVERDUE})
    look = partial(channel.qos.restore_visible, num=num, interval=1)
    look()
    assert 1 <= redis.llen(QUEUE) < MANY
    eventually(lambda: look() or redis.llen(QUEUE) == MANY)
    assert redis.hlen("unacked") == 0
