"""The turns of load balancers in Redis, shared by all workers: a key that ends by itself, so that nobody who died with
the turn keeps it.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from pathlib import Path

from redis import Redis

from berthmaster.redis.scripts import Script
from workers.stores.acquired_keys import AcquiredKeys


class RedisTurns:
    """workers.cloud.mutexes.Turns. Raises what redis-py raises: without Redis nobody has a turn."""

    def __init__(self, redis: Redis) -> None:
        self._keys = AcquiredKeys(redis)
        self._leave = Script(redis, "release_mutex", Path(__file__).parent / "lua")

    def enter(self, load_balancer_arn: str, longest: timedelta) -> str:
        return self._keys.acquire(_key(load_balancer_arn), secrets.token_hex(8), longest)

    def leave(self, load_balancer_arn: str, token: str) -> None:
        self._leave([_key(load_balancer_arn)], [token])


def _key(load_balancer_arn: str) -> str:
    return f"berthmaster:turn:{load_balancer_arn}"
