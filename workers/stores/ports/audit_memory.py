"""The memory of a pool's audits: differences with their first time, and the object that was checked last."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from redis import Redis

REMEMBERED: Final = timedelta(days=7)
"""How long Redis remembers the last audit of a pool: one that was deleted during its audit leaves nothing for ever."""


@dataclass(frozen=True)
class Noted:
    """Differences that an audit found: `fresh` ones for the first time, `ripe` ones first at least a grace ago."""

    fresh: frozenset[str]
    ripe: frozenset[str]


class AuditMemory:
    """The differences of all pools, in Redis. After a loss of Redis every grace begins anew."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def noted(self, prefix: str, differences: Collection[str], grace: timedelta) -> Noted:
        """Compare with the memory without writing, to explain what an audit would do."""
        first, now = self._first(prefix), self._now()
        oldest = now - grace // timedelta(milliseconds=1)
        fresh = frozenset(difference for difference in differences if difference not in first)
        return Noted(fresh, frozenset(difference for difference in differences if first.get(difference, now) <= oldest))

    def note(self, prefix: str, differences: Collection[str], grace: timedelta) -> Noted:
        """Remember these differences and forget all others. If Redis's clock went back, a grace begins anew."""
        noted, first = self.noted(prefix, differences, grace), self._first(prefix)
        pipe, now = self._redis.pipeline(transaction=False), self._now()
        if gone := first.keys() - set(differences):
            pipe.hdel(f"{prefix}drift", *gone)
        for difference in noted.fresh:
            pipe.hsetnx(f"{prefix}drift", difference, now)
        for difference in differences:
            if first.get(difference, now) > now:
                pipe.hset(f"{prefix}drift", difference, now)
        pipe.expire(f"{prefix}drift", REMEMBERED)
        pipe.execute()
        return noted

    def differences(self, prefix: str) -> list[str]:
        """Return the differences of the last audit."""
        return sorted(self._first(prefix))

    def last_checked(self, prefix: str) -> str:
        """Return the object that was checked last, '' for none."""
        stored: Any = self._redis.get(f"{prefix}turn")
        return stored.decode() if stored else ""

    def record_last_checked(self, prefix: str, last: str) -> None:
        """Record the object that was checked last."""
        self._redis.set(f"{prefix}turn", last, ex=REMEMBERED)

    def _first(self, prefix: str) -> dict[str, int]:
        stored: Any = self._redis.hgetall(f"{prefix}drift")
        return {difference.decode(): int(ms) for difference, ms in stored.items()}

    def _now(self) -> int:
        seconds, micros = self._redis.time()
        return int(seconds) * 1000 + int(micros) // 1000
