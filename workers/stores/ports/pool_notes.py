"""Notes about a pool that only people need: load balancers of no use, and why the last scale-up failed.

Lost with Redis; the next list of load balancers writes them again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson
from redis import Redis

LONGEST: Final = 500


class PoolNotes:
    """Notes of a port pool for its status."""

    def __init__(self, redis: Redis, prefix: str) -> None:
        self._redis, self._key = redis, f"{prefix}notes"

    def unusable(self) -> dict[str, str]:
        """Return ARN of a load balancer -> why it gives no ports."""
        text = self._get("unusable")
        return dict(orjson.loads(text)) if text else {}

    def put_unusable(self, unusable: Mapping[str, str]) -> None:
        """Record the load balancers that give no ports: ARN -> why."""
        self._redis.hset(self._key, "unusable", orjson.dumps(unusable))

    def trouble(self) -> str | None:
        """Return why the last scale-up failed, None if it did not."""
        return self._get("trouble").decode() or None

    def put_trouble(self, reason: str | None) -> None:
        """Record why the last scale-up failed; None when it succeeded."""
        self._redis.hset(self._key, "trouble", reason[:LONGEST] if reason else "")

    def _get(self, field: str) -> bytes:
        stored: Any = self._redis.hget(self._key, field)
        return stored or b""
