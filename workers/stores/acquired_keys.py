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
    """Acquires and ends keys. Reads files: create one a process."""

    def __init__(self, redis: Redis) -> None:
        self._acquire, self._end = Script(redis, "acquire_key", LUA), Script(redis, "end_key", LUA)

    def acquire(self, key: str, token: str, length: timedelta) -> str | None:
        """Acquire the key; who holds it by that token keeps it, from now on for `length`.

        Returns the value of the key, None while somebody else has it. `token` must be the caller's own.
        """
        value = token_of(token, length)
        return value if self._acquire([key], [key, value])[0] == b"OK" else None

    def end(self, key: str, value: str, left: timedelta | None = None) -> None:
        """End a key that still has the token of `value`. For `left` it keeps others away, and is nobody's."""
        self._end([key], [key, value, *([] if left is None else [milliseconds(left)])])


def token_of(token: str, length: timedelta) -> str:
    """Return the value that `acquire_key` and `end_key` expect."""
    return f"{token}-{milliseconds(length)}"


def milliseconds(length: timedelta) -> int:
    """Return the length of a key in milliseconds, at least 1."""
    return max(1, length // MILLISECOND)


def time_left(redis: Redis, key: str) -> timedelta:
    """Return the time that such a key has left; 0 for a missing key, or one whose time is over."""
    pipe: Any = redis.pipeline(transaction=True)
    pipe.get(key)
    pipe.pttl(key)
    value, left = pipe.execute()
    length = int((value or b"").rpartition(b"-")[2] or 0)
    return left * MILLISECOND if 0 < left <= length else timedelta(0)
