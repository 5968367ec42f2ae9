"""Decide which worker acquires a tick: one key a period.

Two beats send every tick twice, and a backlog after an outage sends many at once. The first to set the key does the
work; the rest find it there. The key lasts a little less than the period, so that a beat's own jitter never skips a
tick for good. Its worker keeps it for as long as the work lasts: a tick that comes meanwhile is skipped.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Final, TypeAlias

from redis import Redis

from berthmaster.errors import StaleToken
from workers.run import CALL_OVERHEAD
from workers.stores.acquired_keys import AcquiredKeys

SHARE_OF_PERIOD = 0.9
STEP: Final = timedelta(seconds=5)
"""The longest that a step of a tick's work takes that calls neither AWS nor Kubernetes, such as the sweep of a pool."""
REMEMBERED: Final = timedelta(days=7)
"""How long Redis remembers a finished tick. A tick longer ago counts as that long ago."""
Keep: TypeAlias = Callable[[timedelta], None]


def unkept(_: timedelta) -> None:
    """Stand for `Tick.keep` where no tick is to be kept, as in a command."""


class Tick:
    """A tick that this worker has acquired. Rules tick-kept, tick-owner, tick-end."""

    def __init__(self, keys: AcquiredKeys, task: str, period: timedelta, clock: Callable[[], float]) -> None:
        self._keys, self._clock, self._key, self._task = keys, clock, f"berthmaster:tick:{task}", task
        self._token, self._value = secrets.token_hex(8), ""
        self._period, self._ends, self._began = period * SHARE_OF_PERIOD, 0.0, clock()

    def acquire(self) -> bool:
        """Acquire the tick for the period, and at least for a step. False: another worker has it."""
        return self._take(max(self._period, STEP))

    def keep(self, at_least: timedelta) -> None:
        """Make sure that the tick lasts `at_least` more. Raises StaleToken when another worker has acquired it.

        Call it before each step of the work, with the longest time that the step takes.
        """
        if self._clock() + at_least.total_seconds() >= self._ends:
            length = max(self._period, at_least + CALL_OVERHEAD)
            if not self._take(length):
                raise StaleToken(f"another worker has acquired {self._task}")

    def seconds(self) -> float:
        """Return how long ago the tick was acquired."""
        return self._clock() - self._began

    def end(self) -> None:
        """End the work: until the period is over the key keeps others away."""
        left = self._period - timedelta(seconds=self.seconds())
        self._keys.end(self._key, self._value, left if left > timedelta(0) else None)

    def _take(self, length: timedelta) -> bool:
        asked = self._clock()
        value = self._keys.acquire(self._key, self._token, length)
        if value is not None:
            self._value, self._ends = value, asked + length.total_seconds()
        return value is not None


class Ticks:
    """The ticks of all periodic tasks. One worker acquires each."""

    def __init__(self, redis: Redis, clock: Callable[[], float] = time.monotonic) -> None:
        self._redis, self._keys, self._clock = redis, AcquiredKeys(redis), clock

    def acquire(self, task: str, period: timedelta) -> Tick | None:
        """Acquire the period's tick: one caller gets it. If its worker dies, a later tick makes up for that."""
        tick = Tick(self._keys, task, period, self._clock)
        return tick if tick.acquire() else None

    def record(self, task: str) -> None:
        """Record that the tick's work is done: its age begins anew."""
        self._redis.set(done_key(task), 1, px=REMEMBERED)


def done_key(task: str) -> str:
    """Return a key that expires `REMEMBERED` after the task's last tick: its time to live shows the tick's age."""
    return f"berthmaster:tick:done:{task}"


def age(ttl_ms: int) -> float:
    """Return the seconds since a tick was done, from the PTTL of its key; the most possible if none was done."""
    return max(REMEMBERED.total_seconds() - max(ttl_ms, 0) / 1000, 0.0)
