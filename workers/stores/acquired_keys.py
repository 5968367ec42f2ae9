"""Keys that one caller acquires for a length of time, and that end by themselves: mutexes, ticks, requests.

Redis ends a key at a time of its clock. When that clock goes back, the key would last for as much longer; so each value
ends in the length of its key, and a key that is to last longer than its own length is free.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from redis import Redis

from berthmaster.redis.scripts import Script

LUA: Final = Path(__file__).parent / "lua"
MILLISECOND: Final = timedelta(milliseconds=1)


class AcquiredKeys:
    """Reads a file: make one a process."""

    def __init__(self, redis: Redis) -> None:
        self._acquire = Script(redis, "acquire_key", LUA)

    def acquire(self, key: str, token: str, length: timedelta) -> str:
        """The value of the key, which names its holder; '' while somebody else has it."""
        value = token_of(token, length)
        return value if self._acquire([key], [key, value])[0] == b"OK" else ""


def token_of(token: str, length: timedelta) -> str:
    """The value as `acquire_key` and `end_scale_up_request` expect it."""
    return f"{token}-{max(1, length // MILLISECOND)}"


def time_left(redis: Redis, key: str) -> timedelta:
    """Of a key whose value is as above; 0 for one that is not there, or whose time is over."""
    pipe: Any = redis.pipeline(transaction=True)
    pipe.get(key)
    pipe.pttl(key)
    value, left = pipe.execute()
    length = int((value or b"").rpartition(b"-")[2] or 0)
    return left * MILLISECOND if 0 < left <= length else timedelta(0)
