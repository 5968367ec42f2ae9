"""The call budget of a provider, shared by all workers: token buckets in Redis, with reservations.

A caller without a token gets a place in line and the time at which its token is there. So nobody polls, nobody
overtakes, and the rate is kept whatever the number of workers. A place lasts as long as its token can wait in a full
bucket, at most a minute; a caller that comes later joins the line at its end. Urgent callers go first, but each
priority is owed a share of the rate, and leaves some tokens for more urgent callers even when none of them waits. Time
is the Redis server's. A flushed Redis starts with full buckets: the only damage is one additional burst.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from redis import Redis

from berthmaster.redis.scripts import Script
from workers.cloud.call_budget import ApiClass, CallRate, CallRates
from workers.cloud.priority import Priority

LEFT: Final = {Priority.UNBIND: 0.25, Priority.REPAIR: 0.5}
"""Share of the burst that a priority leaves in the bucket; priorities that bind leave none."""
OWED: Final = {Priority.UNBIND: 0.2, Priority.REPAIR: 0.05}
"""Share of the rate that a priority gets even while more urgent callers wait. BIND needs none: FINISH goes before it,
but follows from it, and GROW is a few calls.
"""
SHORTEST_KEEP, LONGEST_KEEP, ROUNDING = timedelta(seconds=2), timedelta(seconds=60), timedelta(milliseconds=5)


class RedisBuckets:
    """The shared Buckets of one region of a provider. Raises what redis-py raises: without Redis there is no budget."""

    def __init__(self, redis: Redis, provider: str, region: str, rates: CallRates) -> None:
        self._redis, self._place, self._rates = redis, f"{provider}:{region}", rates
        self._acquire = Script(redis, "take_token", Path(__file__).parent / "lua")

    def acquire(self, api_class: ApiClass, caller: str, priority: Priority) -> timedelta | None:
        """Take a token. None: the call may begin; else the time until the caller's token is there."""
        rate = self._rates.of(api_class)
        owed = 1000 / (OWED[priority] * rate.per_second) if priority in OWED else 0
        left = int(LEFT.get(priority, 0.0) * rate.burst)
        wait: Any = self._acquire(
            self._keys(api_class),
            [
                caller,
                int(priority),
                rate.per_second,
                rate.burst,
                left,
                owed,
                keep_of(rate) // timedelta(milliseconds=1),
            ],
        )
        return None if wait < 0 else timedelta(milliseconds=wait)

    def drain(self, api_class: ApiClass) -> None:
        """Empty the bucket. The mark expires with the next call, or after a minute without one."""
        bucket = self._keys(api_class)[0]
        with self._redis.pipeline() as pipeline:
            pipeline.hset(bucket, "level", 0)
            pipeline.expire(bucket, LONGEST_KEEP)
            pipeline.execute()

    def _keys(self, api_class: ApiClass) -> list[str]:
        tag = f"{{{self._place}:{api_class}}}"
        return [f"{tag}bucket", f"{tag}line", f"{tag}due"]


def keep_of(rate: CallRate) -> timedelta:
    """Return how long a promised token is kept: a bucket that is full for longer has lost it."""
    fill = timedelta(seconds=rate.burst / rate.per_second)
    return min(max(fill - ROUNDING, SHORTEST_KEEP), LONGEST_KEEP)
