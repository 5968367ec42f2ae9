"""Keys that one caller acquires for a length of time, and that end by themselves: mutexes, ticks, requests.

Redis ends a key by its own clock. When that clock goes back, a key would last too long. So each value ends in the
length of its key, and a key with more time left than that length counts as free.
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
    """Acquires keys. Reads a file: create one a process."""

    def __init__(self, redis: Redis) -> None:
        self._acquire = Script(redis, "acquire_key", LUA)

    def acquire(self, key: str, token: str, length: timedelta) -> str:
        """Acquire the key. Returns its value, which names the holder; '' while somebody else has it."""
        value = token_of(token, length)
        return value if self._acquire([key], [key, value])[0] == b"OK" else ""


def token_of(token: str, length: timedelta) -> str:
    """Return the value that `acquire_key` and `end_scale_up_request` expect."""
    return f"{token}-{max(1, length // MILLISECOND)}"


def time_left(redis: Redis, key: str) -> timedelta:
    """Return the time that such a key has left; 0 for a missing key, or one whose time is over."""
    pipe: Any = redis.pipeline(transaction=True)
    pipe.get(key)
    pipe.pttl(key)
    value, left = pipe.execute()
    length = int((value or b"").rpartition(b"-")[2] or 0)
    return left * MILLISECOND if 0 < left <= length else timedelta(0)
