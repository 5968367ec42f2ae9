"""Which claims exist, which pods wake them (read by events.protocol.claim_index), and which pods a claim has tried.

A run remembers its claim before it reads the pods, and a pod before it writes the pod. The index can be lost: each run
writes its part again, and lists by label what it may have tried.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import orjson
from redis import Redis

from berthmaster.redis.incarnation import INCARNATION
from berthmaster.redis.scripts import Scripts
from domain.kubernetes.objects import Pod
from events.protocol.claim_index import LUA, namers, prefix, tries, uids
from workers.stores.claims.shown import STATUSES, StatusRecord

PHASES: Final = "berthmaster:claims"
"""Key of a hash: namespace/name of a claim -> its phase, for metrics."""
EXACT: Final = timedelta(seconds=5)
"""Two workers' estimates of the API server's clock differ by less."""


class Remembered(NamedTuple):
    """What the index knows of a claim.

    Attributes:
        tried: the pods that the claim may have taken. None: Redis does not know; list them, call `may_have_tried`.
        missing: whether its pod was missing.
        waiting: whether it stands among the claims that wait for a pod.

    """

    tried: frozenset[str] | None
    missing: bool
    waiting: bool


class ClaimIndex:
    """The index of claims. Reads files: create one a process."""

    def __init__(self, redis: Redis) -> None:
        self._redis, self._scripts = redis, Scripts(redis, LUA)

    def remember(self, namespace: str, name: str, uid: str, pods: Collection[str], run: str) -> Remembered:
        """Record the pods that the claim names, and no others: a change of one wakes the claim. `run`: its token."""
        arguments = (INCARNATION, name, uid, orjson.dumps(sorted(pods)), run)
        missing, waiting, status, *tried = self._scripts["remember"]([prefix(namespace)], arguments)
        complete = None if status == b"UNKNOWN" else frozenset(pod.decode() for pod in tried)
        return Remembered(complete, bool(missing), bool(waiting))

    def forget(self, namespace: str, name: str, uid: str | None = None) -> None:
        """Forget the claim with this UID, or whatever the index has of the name. None: no claim has this name."""
        pipe = self._redis.pipeline(transaction=False)
        for key in (PHASES, STATUSES):
            pipe.hdel(key, f"{namespace}/{name}")
        self._scripts["forget"].batch(pipe)([prefix(namespace)], (name, uid or ""))
        pipe.execute()

    def shows(self, namespace: str, name: str, uid: str, status: StatusRecord, run: str, bound: Pod | None) -> bool:
        """Record what the claim's status says, at the end of a run. One round trip.

        `bound`: the pod as the run's own write left it, None if the run bound none or has read it since. False: another
        version was taken for the event of that write, so the claim must be reconciled again (rule ownpodversion).
        """
        pipe = self._redis.pipeline(transaction=False)
        pipe.hset(PHASES, f"{namespace}/{name}", status.phase)
        pipe.hset(STATUSES, f"{namespace}/{name}", status.rest)
        written = (bound.name, str(bound.version)) if bound else ("", "")
        self._scripts["end_write"].batch(pipe)([prefix(namespace)], (name, uid, run, *written))
        _, _, (reply,) = pipe.execute()
        return bool(reply == b"OK")

    def remembered(self, namespace: str, claims: Collection[str]) -> dict[str, str]:
        """Return UID -> name of the claims among these UIDs that the index has."""
        asked = sorted(claims)
        names: Any = self._redis.hmget(uids(namespace), asked) if asked else []
        return {uid: name.decode() for uid, name in zip(asked, names, strict=True) if name}

    def all(self, namespace: str) -> set[tuple[str, str]]:
        """Return name and UID of every claim in the index."""
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
        """Return those of these pods that other claims name, bound or not."""
        asked, pipe = list(pods), self._redis.pipeline(transaction=False)
        for pod in asked:
            pipe.smembers(namers(namespace, pod))
        replies: list[set[bytes]] = pipe.execute() if asked else []
        own = {claim.encode()}
        return frozenset(
            pod for pod, names in zip(asked, replies, strict=True) if any(not tries(name) for name in names - own)
        )

    def may_have_tried(self, namespace: str, uid: str, pods: Collection[str]) -> None:
        """Record that these pods are all that the claim may have taken, as a list has just shown."""
        tried: Mapping[str, Any] = {"": INCARNATION} | dict.fromkeys(pods, 1)
        self._redis.hset(_tried(namespace, uid), items=[part for pair in tried.items() for part in pair])

    def tries(self, namespace: str, name: str, uid: str, pod: str, run: str) -> None:
        """Record a pod that the claim may have taken, and whose changes wake it. Call this before you write the pod.

        The event of the write itself, which carries the token of the run, does not wake the claim (rule expected).
        """
        self._scripts["try_pod"]([prefix(namespace)], (name, uid, pod, run))

    def noticed(self, namespace: str, labelled: Mapping[str, str]) -> set[str]:
        """Record pods with a claim's label, pod -> UID. Returns the UIDs of claims that did not know of their pod."""
        pipe = self._redis.pipeline(transaction=False)
        for pod, uid in labelled.items():
            pipe.hsetnx(_tried(namespace, uid), pod, 1)
        news: list[Any] = pipe.execute() if labelled else []
        return {uid for uid, new in zip(labelled.values(), news, strict=True) if new}

    def has_left(self, namespace: str, uid: str, pod: str) -> None:
        """Record that the pod is not the claim's, and that no earlier write can make it so."""
        self._redis.hdel(_tried(namespace, uid), pod)

    def missing_since(self, namespace: str, uid: str, pod: str, now: datetime) -> datetime:
        """Return since when the pod that the claim names has been missing; `now` if it was there until now.

        `now` is the API server's time. If that clock went back meanwhile, the time begins anew.
        """
        key = f"{prefix(namespace)}missing"
        stored: Any = self._redis.hget(key, uid)
        missing_pod, since = orjson.loads(stored) if stored else (None, 0.0)
        if missing_pod == pod and since <= now.timestamp() + EXACT.total_seconds():
            return min(now, datetime.fromtimestamp(since, UTC))
        self._redis.hset(key, uid, orjson.dumps([pod, now.timestamp()]))
        return now

    def forget_missing(self, namespace: str, uid: str) -> None:
        """Forget since when the claim's pod was missing."""
        self._redis.hdel(f"{prefix(namespace)}missing", uid)


def _tried(namespace: str, uid: str) -> str:
    """Return the key of a hash: pod -> 1; the empty name -> the incarnation under which the hash is complete."""
    return f"{prefix(namespace)}tried:{uid}"
