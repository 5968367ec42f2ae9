"""How often a large object is looked at: a fifth of one thread is its runs' at most, whatever happens."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from redis import Redis

PAUSE: Final = 4  # times as long as the run was
MILLISECOND: Final = timedelta(milliseconds=1)


def left(redis: Redis, key: str) -> timedelta:
    """How long the next run shall wait, 0 for not at all. `key` is there for as long."""
    return max(0, redis.pttl(key)) * MILLISECOND


def pause(redis: Redis, key: str, took: timedelta, longest: timedelta) -> None:
    redis.set(key, b"", px=max(1, min(PAUSE * took, longest) // MILLISECOND))
