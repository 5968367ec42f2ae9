"""The names of the fleet's pools, for sweeps and audits: an index, so that no sweep scans snapshots."""

from __future__ import annotations

from typing import Any

from redis import Redis


class PoolNames:
    """The names of port pools. Lost with Redis; each pool's own run adds its name again."""

    key = "berthmaster:portpools"

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def add(self, name: str) -> None:
        """Add the pool to the index."""
        self._redis.sadd(self.key, name)

    def remove(self, name: str) -> None:
        """Remove the pool from the index."""
        self._redis.srem(self.key, name)

    def all(self) -> list[str]:
        """Return the names in order."""
        names: Any = self._redis.smembers(self.key)
        return sorted(name.decode() for name in names)


class PodPoolNames(PoolNames):
    """The names of pod pools, as namespace/name."""

    key = "berthmaster:podpools"


class ShownStatus:
    """The status that was last written on a pool, so that an unchanged one costs no call.

    It counts only for that object, in that history of the API: an object restored from a backup has its old status.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def get(self, prefix: str) -> bytes:
        """Return the status that was written last, b'' for none."""
        stored: Any = self._redis.get(f"{prefix}shown")
        return stored or b""

    def put(self, prefix: str, text: bytes) -> None:
        """Record the status that was written."""
        self._redis.set(f"{prefix}shown", text)

    def forget(self, prefix: str) -> None:
        """Forget the status, so that the next one is written."""
        self._redis.delete(f"{prefix}shown")
