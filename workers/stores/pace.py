"""How often a large object is looked at: a fifth of one thread is its runs' at most, whatever happens."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from redis import Redis

from workers.stores.acquired_keys import MILLISECOND, time_left, token_of

PAUSE: Final = 4  # times as long as the run was


def left(redis: Redis, key: str) -> timedelta:
    """How long the next run shall wait, 0 for not at all. `key` is there for as long."""
    return time_left(redis, key)


def pause(redis: Redis, key: str, took: timedelta, longest: timedelta) -> None:
    """Pause the key for a multiple of the time that its run took, at most `longest`."""
    length = min(PAUSE * took, longest)
    redis.set(key, token_of("pace", length), px=max(MILLISECOND, length))
