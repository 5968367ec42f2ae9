"""The last AWS error about a pod's ports, to explain why a pod waits. Small, and forgotten after a day."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, Final

import orjson
from redis import Redis

LONGEST: Final = 300
KEPT: Final = timedelta(days=1)


@dataclass(frozen=True)
class Trouble:
    """An error of AWS. `at` is in seconds of Redis's clock."""

    at: int
    action: str
    code: str
    reason: str


class Troubles:
    """The last error of each pod, for status and `explain`."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def put(self, key: str, action: str, code: str, reason: str) -> None:
        """Record the error; only the last one is kept. `key` is the key of the pod's run."""
        trouble = Trouble(int(self._redis.time()[0]), action, code, reason[:LONGEST])
        self._redis.set(_key(key), orjson.dumps(asdict(trouble)), ex=KEPT)

    def last(self, key: str) -> Trouble | None:
        """Return the last error of the key, None if there is none."""
        stored: Any = self._redis.get(_key(key))
        return Trouble(**orjson.loads(stored)) if stored else None


def _key(key: str) -> str:
    return f"berthmaster:trouble:{key}"
