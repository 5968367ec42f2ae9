"""Killing a Redis server and having it back."""

from __future__ import annotations

from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from compose.sandbox.redis_server import RedisServer
from tests.support.waiting import eventually


def restart(server: RedisServer) -> None:
    """SIGKILL, start, and wait until it has loaded its data: it accepts connections long before."""
    server.kill()
    server.start()
    await_loaded(server)


def await_loaded(server: RedisServer) -> None:
    def loaded() -> bool:
        try:
            with Redis.from_url(server.url) as redis:
                return bool(redis.ping())
        except RedisConnectionError:
            return False

    eventually(loaded)
