"""Leftovers that an audit has seen, and since when; per pool."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from redis import Redis


class Orphans:
    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def ripe(self, prefix: str, seen: Sequence[str], grace: timedelta) -> list[str]:
        """Those of `seen` that were first seen at least `grace` ago. What is not seen any more is forgotten."""
        key = f"{prefix}orphans"
        stored: Any = self._redis.hgetall(key)
        first = {arn.decode(): int(ms) for arn, ms in stored.items()}
        if gone := [arn for arn in first if arn not in seen]:
            self._redis.hdel(key, *gone)
        seconds, micros = self._redis.time()
        now = int(seconds) * 1000 + int(micros) // 1000
        for arn in seen:
            first.setdefault(arn, now)
            self._redis.hsetnx(key, arn, str(now))
        return [arn for arn in seen if now - first[arn] >= grace / timedelta(milliseconds=1)]
