"""How often a large set is looked at while its claims change one after the other: a fifth of a thread at most."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from redis import Redis

from events.claim_index import prefix

PAUSE: Final = 4  # times as long as the look was
LONGEST: Final = timedelta(seconds=10)
QUICK: Final = timedelta(milliseconds=500)
"""Shorter looks need no pause."""
MILLISECOND: Final = timedelta(milliseconds=1)


class ClaimSetPace:
    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def too_soon(self, namespace: str, name: str) -> timedelta:
        """How long the next look shall wait, 0 for not at all."""
        return max(0, self._redis.pttl(_key(namespace, name))) * MILLISECOND

    def looked(self, namespace: str, name: str, took: timedelta) -> None:
        if took >= QUICK:
            self._redis.set(_key(namespace, name), b"", px=min(PAUSE * took, LONGEST) // MILLISECOND)


def _key(namespace: str, name: str) -> str:
    """It is there for as long as looks shall wait."""
    return f"{prefix(namespace)}pace:{name}"
