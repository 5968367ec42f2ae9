"""The pace of a large set's runs while its claims change one after the other."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from redis import Redis

from events.protocol.claim_index import prefix
from workers.stores.pace import left, pause

LONGEST: Final = timedelta(seconds=10)
QUICK: Final = timedelta(milliseconds=500)
"""Shorter runs need no pause."""


class ClaimSetPace:
    """Pauses between the runs of a claim set, so that a large set does not keep a worker busy."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def too_soon(self, namespace: str, name: str) -> timedelta:
        """Return how long the next run shall wait, 0 if it need not wait."""
        return left(self._redis, _key(namespace, name))

    def looked(self, namespace: str, name: str, took: timedelta) -> None:
        """Pause for as long as the run took, at most LONGEST. A run shorter than QUICK causes no pause."""
        if took >= QUICK:
            pause(self._redis, _key(namespace, name), took, LONGEST)


def _key(namespace: str, name: str) -> str:
    return f"{prefix(namespace)}pace:{name}"
