"""The names of claim sets by UID, as in a pod's label `claimset`. events.protocol.claim_index reads them.

They can be lost: each run of a set writes its name again.
"""

from __future__ import annotations

from redis import Redis

from events.protocol.claim_index import sets


class ClaimSetNames:
    """The names of claim sets by UID, so that a claim wakes the set that owns it."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def put(self, namespace: str, uid: str, name: str) -> None:
        """Record the name of the set with this UID."""
        self._redis.hset(sets(namespace), uid, name)

    def drop(self, namespace: str, uid: str) -> None:
        """Forget the set with this UID."""
        self._redis.hdel(sets(namespace), uid)
