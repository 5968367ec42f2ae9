"""Kombu's Redis transport with and without our guards. A failure here may be good news: kombu needs a guard no more."""

from __future__ import annotations

import json
from contextlib import suppress
from queue import Empty
from typing import Any

import pytest
from kombu import Connection
from kombu.transport.redis import Channel, Transport
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from berthmaster.celery import transport_guard
from berthmaster.routing import hint
from compose.sandbox.redis_server import RedisServer

QUEUE = "guarded"


class UnguardedChannel(Channel):
    """As kombu ships it."""

    _connparams = transport_guard.unguarded["_connparams"]
    _brpop_read = transport_guard.unguarded["_brpop_read"]


class UnguardedTransport(Transport):
    Channel = UnguardedChannel


class GuardedChannel(Channel):
    """As our processes run it, whether or not this one has installed the guards."""

    _connparams = transport_guard.GUARDS["_connparams"]
    _brpop_read = transport_guard.GUARDS["_brpop_read"]


class GuardedTransport(Transport):
    Channel = GuardedChannel


def consuming(url: str, transport: type[Transport]) -> Connection:
    """One message unacknowledged, and BRPOPs pending on two channels: what a worker under load is."""
    connection = Connection(url, transport=transport)
    connection.SimpleQueue(QUEUE).put("work")
    listening(connection.default_channel)._brpop_read()
    for channel in (connection.default_channel, connection.channel()):
        listening(channel)
    return connection


def listening(channel: Any) -> Any:
    """Has a BRPOP on its way, as the event loop makes it."""
    channel.basic_consume(QUEUE, no_ack=False, callback=lambda _message: None, consumer_tag=f"tag-{id(channel)}")
    channel.connection.cycle.on_poll_start()
    return channel


def lose(connection: Connection, server: RedisServer) -> None:
    """What Celery does when another of its reads has failed: see its `on_connection_error_after_connected`."""
    server.kill()
    connection.collect()
    with suppress(RedisConnectionError):  # which Celery expects
        connection.close()


@pytest.mark.row("EV-11")
def test_kombu_alone_still_ends_a_worker_that_loses_redis(server: RedisServer) -> None:
    connection = consuming(server.url, UnguardedTransport)
    with pytest.raises(AttributeError, match="hostname"):  # no failure: remove the guard `_connparams`
        lose(connection, server)


@pytest.mark.row("EV-11")
def test_with_the_guard_a_lost_redis_is_a_lost_connection(server: RedisServer) -> None:
    connection = consuming(server.url, GuardedTransport)
    lose(connection, server)


BROKEN = {
    "no json": "no json",
    "no message": "{}",
    "nested": "[" * 100_000,
    "no tag": json.dumps(json.loads(hint("pod/a/b")) | {"properties": {"delivery_tag": None, "delivery_info": {}}}),
}


def read_broken(redis: Redis, url: str, transport: type[Transport], entry: str = "no json") -> None:
    with Connection(url, transport=transport) as connection:
        redis.lpush(QUEUE, entry)
        listening(connection.default_channel)._brpop_read()


def test_kombu_alone_still_raises_for_an_entry_that_is_no_message(redis: Redis, redis_url: str) -> None:
    with pytest.raises(ValueError, match="Expecting value"):  # no failure: remove the guard `_brpop_read`
        read_broken(redis, redis_url, UnguardedTransport)


@pytest.mark.parametrize("entry", BROKEN.values(), ids=BROKEN)
def test_with_the_guard_such_an_entry_is_nothing(redis: Redis, redis_url: str, entry: str) -> None:
    with pytest.raises(Empty):
        read_broken(redis, redis_url, GuardedTransport, entry)


def test_guards_installed_twice_are_installed_once(redis: Redis, redis_url: str) -> None:
    transport_guard.install()
    transport_guard.install()
    with Connection(redis_url) as connection:
        connection.SimpleQueue(QUEUE).put("work")
    assert redis.llen(QUEUE) == 1
