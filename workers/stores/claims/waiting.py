"""Claims that wait for a pod, and the pool that each is nominated to. Lost with Redis: their runs write them again.

During a rollout, workers of two versions read each other's entries. So a reader ignores fields that it does not know,
and a field that is missing has its default.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from pydantic import TypeAdapter
from redis import Redis

from domain.claims.pod_request import PodRequest
from events.protocol.claim_index import prefix

REQUEST: Final = TypeAdapter(PodRequest)


@dataclass(frozen=True)
class WaitingClaim:
    """A waiting claim.

    Attributes:
        since: when the claim was created.
        pool: the pool that grows for the claim, None if none does.
        request: what the claim asks of its pod.

    """

    name: str
    uid: str
    since: str
    pool: str | None = None
    request: PodRequest = field(default_factory=PodRequest)


class WaitingClaims:
    """The waiting claims of a namespace, by name."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def put(self, namespace: str, claim: WaitingClaim) -> bool:
        """Record a waiting claim. False: the same entry was there already."""
        key, entry = _key(namespace), _encoded(claim)
        before: Any = self._redis.hget(key, claim.name)
        self._redis.hset(key, claim.name, entry)
        return bool(before != entry)

    def drop(self, namespace: str, name: str) -> None:
        """Forget a claim that waits no longer."""
        self._redis.hdel(_key(namespace), name)

    def all(self, namespace: str) -> tuple[WaitingClaim, ...]:
        """Return the waiting claims, the oldest first."""
        stored: Any = self._redis.hvals(_key(namespace))
        return tuple(sorted(map(_decoded, stored), key=lambda claim: (claim.since, claim.name)))


def _key(namespace: str) -> str:
    """Return the key of a hash: name of a claim -> its entry.

    An entry is JSON: name, uid, since, pool (the nominated pool or null), and the fields of the request. Its field
    `only` is the pool of the request, or null; an older version writes true there and means the nominated pool.
    """
    return f"{prefix(namespace)}waiting"


def _encoded(claim: WaitingClaim) -> bytes:
    request = REQUEST.dump_python(claim.request)
    head = {"name": claim.name, "uid": claim.uid, "since": claim.since, "pool": claim.pool}
    return orjson.dumps(head | {"only": request.pop("pool")} | request, option=orjson.OPT_SORT_KEYS)


def _decoded(entry: bytes) -> WaitingClaim:
    stored = orjson.loads(entry)
    pool, only = stored.get("pool") or None, stored.get("only") or None
    request = REQUEST.validate_python(stored | {"pool": stored["pool"] if only is True else only})
    return WaitingClaim(stored["name"], stored["uid"], stored["since"], pool, request)
