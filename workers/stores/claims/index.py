"""Which claims exist, which pods concern them (read by events.protocol.claim_index), and which pods a claim has tried.

A run remembers its claim before it reads the pods, and writes down a pod before it takes it. All of it can be lost: a
run writes the index anew, and lists by label what it may have tried.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import orjson
from redis import Redis

from berthmaster.redis.incarnation import INCARNATION
from berthmaster.redis.scripts import Scripts
from events.protocol.claim_index import namers, prefix, uids

PHASES: Final = "berthmaster:claims"
"""Key of a hash: namespace/name of a claim -> its phase, for who counts them."""
EXACT: Final = timedelta(seconds=5)
"""What two workers know of one server's clock may differ by less."""
LUA: Final = Path(__file__).parent / "lua"


class ClaimIndex:
    """Reads files: make one a process."""

    def __init__(self, redis: Redis) -> None:
        self._redis, self._scripts = redis, Scripts(redis, LUA)

    def remember(self, namespace: str, name: str, uid: str, pods: Collection[str]) -> None:
        """These are the pods that it names: a change of one wakes it."""
        self._scripts["remember"]([prefix(namespace)], (name, uid, orjson.dumps(sorted(pods))))

    def forget(self, namespace: str, name: str, uid: str = "") -> None:
        """`uid` '': there is no claim of this name."""
        self._redis.hdel(PHASES, f"{namespace}/{name}")
        self._scripts["forget"]([prefix(namespace)], (name, uid))

    def shows(self, namespace: str, name: str, phase: str) -> None:
        """Stores the phase that its status shows."""
        self._redis.hset(PHASES, f"{namespace}/{name}", phase)

    def remembered(self, namespace: str, claims: Collection[str]) -> dict[str, str]:
        """UID -> name, of those of these claims that the index has."""
        asked = sorted(claims)
        names: Any = self._redis.hmget(uids(namespace), asked) if asked else []
        return {uid: name.decode() for uid, name in zip(asked, names, strict=True) if name}

    def all(self, namespace: str) -> set[tuple[str, str]]:
        """Name and UID of those that are remembered."""
        records: Any = self._redis.hgetall(f"{prefix(namespace)}records")
        return {(name.decode(), orjson.loads(record)["uid"]) for name, record in records.items()}

    def due(self, namespace: str, period: timedelta) -> bool:
        """True once per period; False on the first call after Redis was reset."""
        key, now = f"{prefix(namespace)}checked", self._redis.time()[0]
        last: Any = self._redis.get(key)
        if last is not None and 0 <= now - int(last) < period.total_seconds():
            return False
        self._redis.set(key, now, ex=2 * period)
        return last is not None

    def named_by_others(self, namespace: str, pods: Iterable[str], claim: str) -> frozenset[str]:
        """Those of these pods that other claims name, taken or not."""
        asked, pipe = list(pods), self._redis.pipeline(transaction=False)
        for pod in asked:
            pipe.smembers(namers(namespace, pod))
        replies: list[set[bytes]] = pipe.execute() if asked else []
        own = {claim.encode()}
        return frozenset(pod for pod, names in zip(asked, replies, strict=True) if names - own)

    def tried(self, namespace: str, uid: str) -> frozenset[str] | None:
        """Pods that it may have taken. None: Redis does not know, list them and say so by `may_have_tried`."""
        status, *names = self._scripts["tried_pods"]([prefix(namespace)], (INCARNATION, uid))
        return None if status == b"UNKNOWN" else frozenset(name.decode() for name in names)

    def may_have_tried(self, namespace: str, uid: str, pods: Collection[str]) -> None:
        """These are all, as a list has just shown."""
        tried: Mapping[str, Any] = {"": INCARNATION} | dict.fromkeys(pods, 1)
        self._redis.hset(_tried(namespace, uid), items=[part for pair in tried.items() for part in pair])

    def tries(self, namespace: str, uid: str, pod: str) -> None:
        """Call it before that pod is written."""
        self._redis.hset(_tried(namespace, uid), pod, 1)

    def noticed(self, namespace: str, labelled: Mapping[str, str]) -> set[str]:
        """Pod -> UID that its label says. UIDs of the claims that did not know that: from now on they do."""
        pipe = self._redis.pipeline(transaction=False)
        for pod, uid in labelled.items():
            pipe.hsetnx(_tried(namespace, uid), pod, 1)
        news: list[Any] = pipe.execute() if labelled else []
        return {uid for uid, new in zip(labelled.values(), news, strict=True) if new}

    def has_left(self, namespace: str, uid: str, pod: str) -> None:
        """That pod is not its own, and cannot become so by anything that was begun before."""
        self._redis.hdel(_tried(namespace, uid), pod)

    def missing_since(self, namespace: str, uid: str, pod: str, now: datetime) -> datetime:
        """Since when that pod, which it names, was not there; `now` if it was until now.

        `now` is the API server's clock: one that went back since begins the time anew.
        """
        key = f"{prefix(namespace)}missing"
        stored: Any = self._redis.hget(key, uid)
        missing_pod, since = orjson.loads(stored) if stored else ("", 0.0)
        if missing_pod == pod and since <= now.timestamp() + EXACT.total_seconds():
            return min(now, datetime.fromtimestamp(since, UTC))
        self._redis.hset(key, uid, orjson.dumps([pod, now.timestamp()]))
        return now

    def forget_missing(self, namespace: str, uid: str) -> None:
        """Ends the time for which a pod that the claim names is missing."""
        self._redis.hdel(f"{prefix(namespace)}missing", uid)


def _tried(namespace: str, uid: str) -> str:
    """Key of a hash: pod -> 1; the empty name -> the server under which it is complete."""
    return f"{prefix(namespace)}tried:{uid}"
