"""The turns of load balancers in Redis, shared by all workers: a key that ends by itself, so that nobody who died with
the turn keeps it.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from pathlib import Path

from redis import Redis

from events.workqueue.scripts import Script


class RedisTurns:
    """workers.cloud.turns.Turns. Raises what redis-py raises: without Redis nobody has a turn."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._leave = Script(redis, "leave_turn", Path(__file__).parent / "lua")

    def enter(self, load_balancer_arn: str, longest: timedelta) -> str:
        token = secrets.token_hex(8)
        return token if self._redis.set(_key(load_balancer_arn), token, nx=True, px=longest) else ""

    def leave(self, load_balancer_arn: str, token: str) -> None:
        self._leave([_key(load_balancer_arn)], [token])


def _key(load_balancer_arn: str) -> str:
    return f"berthmaster:turn:{load_balancer_arn}"
