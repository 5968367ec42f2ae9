"""Which worker does a tick: one key a period.

Two beats send every tick twice, and a backlog after an outage sends many at once. The first to set the key does the
work; the rest find it there. The key lasts a little less than the period, so that a beat's own jitter never skips a
tick for good.
"""

from __future__ import annotations

from datetime import timedelta

from redis import Redis

from workers.stores.acquired_keys import AcquiredKeys

SHARE_OF_PERIOD = 0.9


class Ticks:
    def __init__(self, redis: Redis) -> None:
        self._keys = AcquiredKeys(redis)

    def claim(self, task: str, period: timedelta) -> bool:
        """True for one caller a period. If that one dies, the tick is missed: the next makes up for it."""
        return bool(self._keys.acquire(f"berthmaster:tick:{task}", "tick", period * SHARE_OF_PERIOD))
