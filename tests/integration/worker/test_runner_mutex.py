"""The lock of a runner's look for unacknowledged messages, on a real Redis."""

from __future__ import annotations

from typing import Any

import pytest
from redis import Redis
from redis.client import Pipeline
from redis.exceptions import ConnectionError as RedisConnectionError

from berthmaster.runner import mutex
from compose.sandbox.redis_server import RedisServer


class LostAfterWatch(Pipeline):
    """A transaction whose connection the server ends once it watches."""

    def watch(self, *names: Any) -> Any:
        pipeline: Any = super()
        answer = pipeline.watch(*names)
        with Redis(connection_pool=self.connection_pool.__class__(**self.connection_pool.connection_kwargs)) as other:
            other.client_kill_filter(_type="normal", skipme=True)
        return answer


class Lossy(Redis):
    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> Any:
        return LostAfterWatch(self.connection_pool, self.response_callbacks, transaction, shard_hint)


@pytest.mark.row("EV-11")
def test_a_connection_that_is_lost_while_the_lock_is_released_ends_no_runner(server: RedisServer) -> None:
    """Kombu knows no WatchError: it left the event loop, and the process ended."""
    with Lossy.from_url(server.url) as client:
        with mutex.mutex(client, "unacked_mutex", 5.0):
            pass
        assert client.ping()


@pytest.mark.row("EV-11")
def test_a_server_that_is_gone_is_a_lost_connection(server: RedisServer) -> None:
    with (
        Redis.from_url(server.url) as client,
        pytest.raises(RedisConnectionError),
        mutex.mutex(client, "unacked_mutex", 5.0),
    ):
        server.kill()
