"""Channels of kombu's Redis transport with and without a kept client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from celery import Celery
from kombu import Connection, transport
from kombu.transport import redis as kombu_redis

from berthmaster.celery import kept_client
from berthmaster.runner.install import install as install_runner
from berthmaster.runner.settings import RunnerSettings
from compose.sandbox.redis_server import RedisServer
from workers.app import create_app
from workers.settings import WorkerSettings

QUEUE = "kept"
MESSAGES = 5


def counting(channel: type[Any], transport_class: type[Any]) -> tuple[list[Any], type[Any]]:
    """The clients that are made so far, and a transport whose channels count them."""
    made: list[Any] = []

    class CountingChannel(channel):  # type: ignore[misc] # a class that is an argument
        def _get_client(self) -> Callable[..., Any]:
            client = super()._get_client()

            def counted(*args: Any, **options: Any) -> Any:
                made.append(client(*args, **options))
                return made[-1]

            return counted

    return made, type("CountingTransport", (transport_class,), {"Channel": CountingChannel})


def taken_and_acknowledged(url: str, transport_class: type[Any], made: list[Any]) -> int:
    """How many clients that took, beyond those with which the channel begins."""
    with Connection(url, transport=transport_class) as connection:
        queue = connection.SimpleQueue(QUEUE)
        queue.put("first")
        before = len(made)
        for _ in range(MESSAGES):
            queue.put("message")
            queue.get().ack()
        return len(made) - before


@pytest.mark.usefixtures("redis")
def test_kombu_alone_still_makes_clients_for_each_message(redis_url: str) -> None:
    made, counted = counting(kombu_redis.Channel, kombu_redis.Transport)
    clients = taken_and_acknowledged(redis_url, counted, made)
    assert clients >= 3 * MESSAGES  # no: remove berthmaster/celery/kept_client.py, or adapt it


@pytest.mark.usefixtures("redis")
def test_a_channel_that_keeps_its_client_makes_none_for_a_message(redis_url: str) -> None:
    made, counted = counting(kept_client.Channel, kept_client.Transport)
    assert taken_and_acknowledged(redis_url, counted, made) <= 1  # the one with which the event loop reads


def client_of(channel: Any) -> Any:
    with channel.conn_or_acquire() as client:
        return client


def test_threads_share_the_client_and_a_disconnected_channel_gets_another(redis_url: str) -> None:
    kept_client.install()
    with Connection(redis_url) as connection, ThreadPoolExecutor(4) as threads:
        channel: Any = connection.default_channel
        first = client_of(channel)
        assert {id(client) for client in threads.map(client_of, [channel] * 20)} == {id(first)}
        assert all(threads.map(lambda _: first.ping(), range(20)))
        channel._disconnect_pools()
        second = client_of(channel)
        assert second is not first
        assert second.connection_pool is channel.pool


def test_a_forked_child_does_not_use_its_parents_client(redis_url: str) -> None:
    kept_client.install()
    with Connection(redis_url) as connection:
        channel: Any = connection.default_channel
        parents = client_of(channel)
        parents.ping()
        channel._after_fork()  # kombu calls it in the child
        child = client_of(channel)
        assert child is not parents
        assert child.connection_pool is not parents.connection_pool


def test_a_kept_client_outlives_a_restart_of_redis(server: RedisServer) -> None:
    kept_client.install()
    with Connection(server.url) as connection:
        channel: Any = connection.default_channel
        connection.SimpleQueue(QUEUE).put("before")
        client = client_of(channel)
        server.kill()
        with pytest.raises(connection.connection_errors):
            client.ping()
        server.start()
        connection.SimpleQueue(QUEUE).put("after")
        assert client_of(channel) is client


@pytest.fixture
def kombus_transports() -> Iterator[None]:
    """What kombu begins with, in place of what another test has installed."""
    before = dict(transport.TRANSPORT_ALIASES)
    resolved: Any = transport
    resolved._transport_cache.clear()
    transport.TRANSPORT_ALIASES.update(
        redis="kombu.transport.redis:Transport",
        rediss="kombu.transport.redis:Transport",
        sentinel="kombu.transport.redis:SentinelTransport",
    )
    yield
    transport.TRANSPORT_ALIASES.update(before)


def worker_app() -> Any:
    return create_app(lambda: WorkerSettings(cluster="test"))


def runner_app() -> Any:
    app = Celery("runner", set_as_current=False)
    install_runner(app, lambda: RunnerSettings(pool="games/arena", pod="a", uid="u"))
    return app


@pytest.mark.usefixtures("kombus_transports")
@pytest.mark.parametrize("app", [worker_app, runner_app], ids=["worker and beat", "runner"])
@pytest.mark.parametrize("scheme", ["redis", "rediss", "sentinel"])
def test_the_channels_of_our_processes_keep_their_client(app: Callable[[], Any], scheme: str) -> None:
    connection = app().connection_for_write(f"{scheme}://127.0.0.1:1/0")
    assert issubclass(connection.get_transport_cls().Channel, kept_client.KeptClient)
