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
"""How long Redis knows when a tick was done: longer ago counts as that long."""


class Ticks:
    """The ticks of all periodic tasks. One worker acquires each."""

    def __init__(self, redis: Redis) -> None:
        self._redis, self._keys = redis, AcquiredKeys(redis)

    def acquire(self, task: str, period: timedelta) -> bool:
        """True for one caller a period. If that worker dies, the tick is lost, and the next tick makes up for it."""
        return bool(self._keys.acquire(f"berthmaster:tick:{task}", "tick", period * SHARE_OF_PERIOD))

    def record(self, task: str) -> None:
        """The tick's work is done: its age begins anew."""
        self._redis.set(done_key(task), 1, px=REMEMBERED)


def done_key(task: str) -> str:
    """A key that expires `REMEMBERED` after the task's last tick, so that its time to live says how old that is."""
    return f"berthmaster:tick:done:{task}"


def age(ttl_ms: int) -> float:
    """Seconds since a tick was done, from the PTTL of its key; a tick that was never done is as old as can be."""
    return max(REMEMBERED.total_seconds() - max(ttl_ms, 0) / 1000, 0.0)
