"""The pace of a large object's runs: they take at most a fifth of one thread, whatever happens."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from redis import Redis

from workers.stores.acquired_keys import MILLISECOND, time_left, token_of

PAUSE: Final = 4  # times as long as the run was


def left(redis: Redis, key: str) -> timedelta:
    """Return how long the next run shall wait, 0 for not at all: what is left of the key's pause."""
    return time_left(redis, key)


def pause(redis: Redis, key: str, took: timedelta, longest: timedelta) -> None:
    """Pause the key for a multiple of its run's time, at most `longest`."""
    length = min(PAUSE * took, longest)
    redis.set(key, token_of("pace", length), px=max(MILLISECOND, length))
