"""Decide which worker acquires a tick: one key a period.

Two beats send every tick twice, and a backlog after an outage sends many at once. The first to set the key does the
work; the rest find it there. The key lasts a little less than the period, so that a beat's own jitter never skips a
tick for good.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from redis import Redis

from workers.stores.acquired_keys import AcquiredKeys

SHARE_OF_PERIOD = 0.9
REMEMBERED: Final = timedelta(days=7)
"""How long Redis remembers a finished tick. A tick longer ago counts as that long ago."""


class Ticks:
    """The ticks of all periodic tasks. One worker acquires each."""

    def __init__(self, redis: Redis) -> None:
        self._redis, self._keys = redis, AcquiredKeys(redis)

    def acquire(self, task: str, period: timedelta) -> bool:
        """Acquire the period's tick: True for one caller. If its worker dies, the next tick makes up for that."""
        return bool(self._keys.acquire(f"berthmaster:tick:{task}", "tick", period * SHARE_OF_PERIOD))

    def record(self, task: str) -> None:
        """Record that the tick's work is done: its age begins anew."""
        self._redis.set(done_key(task), 1, px=REMEMBERED)


def done_key(task: str) -> str:
    """Return a key that expires `REMEMBERED` after the task's last tick: its time to live shows the tick's age."""
    return f"berthmaster:tick:done:{task}"


def age(ttl_ms: int) -> float:
    """Return the seconds since a tick was done, from the PTTL of its key; the most possible if none was done."""
    return max(REMEMBERED.total_seconds() - max(ttl_ms, 0) / 1000, 0.0)
