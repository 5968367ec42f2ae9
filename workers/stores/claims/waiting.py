"""Claims that wait for a pod, and the pool that each is nominated to. Lost with Redis: their runs write them again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson
from redis import Redis

from events.protocol.claim_index import prefix


@dataclass(frozen=True)
class WaitingClaim:
    """A waiting claim. `pool`: the pool that shall grow for it, '' for none; `only`: no other pool will do. `since`:
    its creation.
    """

    name: str
    uid: str
    since: str
    pool: str = ""
    only: bool = False
    owner: str = ""
    selector: Mapping[str, str] = field(default_factory=dict)

    def fits(self, pool: str, labels: Mapping[str, str]) -> bool:
        """Tell whether a pod of that pool with these labels fits."""
        return (not self.only or pool == self.pool) and self.selector.items() <= labels.items()


class WaitingClaims:
    """The waiting claims of a namespace, by name."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def put(self, namespace: str, claim: WaitingClaim) -> bool:
        """Record a waiting claim. False: the same entry was there already."""
        key, entry = _key(namespace), orjson.dumps(asdict(claim))
        before: Any = self._redis.hget(key, claim.name)
        self._redis.hset(key, claim.name, entry)
        return bool(before != entry)

    def drop(self, namespace: str, name: str) -> None:
        """Forget a claim that waits no longer."""
        self._redis.hdel(_key(namespace), name)

    def all(self, namespace: str) -> tuple[WaitingClaim, ...]:
        """Return the waiting claims, the oldest first."""
        stored: Any = self._redis.hvals(_key(namespace))
        return tuple(sorted((WaitingClaim(**orjson.loads(entry)) for entry in stored), key=lambda c: (c.since, c.name)))


def _key(namespace: str) -> str:
    """Return the key of a hash: name of a claim -> JSON of WaitingClaim."""
    return f"{prefix(namespace)}waiting"
