"""The names of the pools that this fleet serves, for sweeps and audits: an index, so that no sweep scans snapshots."""

from __future__ import annotations

from typing import Any

from redis import Redis


class PoolNames:
    """Lost with Redis; every pool's own run adds it again."""

    key = "berthmaster:portpools"

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def add(self, name: str) -> None:
        self._redis.sadd(self.key, name)

    def remove(self, name: str) -> None:
        self._redis.srem(self.key, name)

    def all(self) -> list[str]:
        names: Any = self._redis.smembers(self.key)
        return sorted(name.decode() for name in names)


class PodPoolNames(PoolNames):
    """The same of pod pools, as namespace/name."""

    key = "berthmaster:podpools"


class ShownStatus:
    """The status that was last written on a pool, so that an unchanged one costs no call.

    Of that object and that history of the API alone: what was restored from a backup shows what it showed then.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def get(self, prefix: str) -> bytes:
        stored: Any = self._redis.get(f"{prefix}shown")
        return stored or b""

    def put(self, prefix: str, text: bytes) -> None:
        self._redis.set(f"{prefix}shown", text)

    def forget(self, prefix: str) -> None:
        self._redis.delete(f"{prefix}shown")
