"""Mutexes of load balancers in Redis, shared by all workers. Each ends by itself, so that a dead worker keeps none."""

from __future__ import annotations

import secrets
from datetime import timedelta

from redis import Redis

from workers.stores.acquired_keys import AcquiredKeys


class RedisMutexes:
    """A workers.cloud.mutexes.LoadBalancerMutexes. Raises redis-py's errors: without Redis nobody holds a mutex."""

    def __init__(self, redis: Redis) -> None:
        self._keys = AcquiredKeys(redis)

    def acquire(self, load_balancer_arn: str, longest: timedelta) -> str | None:
        """Acquire the mutex for at most `longest`. Returns the token that releases it, None when it is taken."""
        return self._keys.acquire(_key(load_balancer_arn), secrets.token_hex(8), longest)

    def release(self, load_balancer_arn: str, token: str) -> None:
        """Release the mutex, if the token still holds it."""
        self._keys.end(_key(load_balancer_arn), token)


def _key(load_balancer_arn: str) -> str:
    return f"berthmaster:mutex:{load_balancer_arn}"
