"""The latest changes of each pool's pods, so that a worker needs no list to know what a pool's pods are now.

A worker lists the pods of a pool once, and reads the changes since then. They are a Redis Stream for each pool: the
publisher appends each event of a pod, and a pool's run appends what it has written. An entry may come late, or twice.

- Rule newestpod: versions decide, so that an entry of an older publisher changes nothing.
- Rule beginfirst: a reader takes its position before it lists, so that nothing is missed in between.
- Rule contiguous: the position is an entry. While that entry is there, no later one was removed.
- Rule countlist: a publisher that has listed counts one more list. What happened before the list may have no entry.

The position names the incarnation of Redis as well: another one may lack entries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
from redis import Redis

from berthmaster.kinds import POD_POOL
from berthmaster.names import is_name
from berthmaster.redis.incarnation import incarnation
from domain.kubernetes.names import DELETION_COST, POOL, PREFIX
from domain.kubernetes.objects import Json, KubeObject, Pod, body_of
from domain.pod_pools.protection import HONOURED

LISTS: Final = "{poolpods}lists"
"""A counter of the publisher's lists."""
KEPT: Final = 1000
"""Changes that a pool keeps. Whoever has missed more lists the pods, which costs less."""
MOST_BYTES: Final = 16 * 1024
"""The largest entry: whoever writes a pod decides how large it is. Readers list instead of reading a larger pod."""
FORGOTTEN_AFTER: Final = 3600
"""Seconds after which a pool without changes keeps none."""
AUTOSCALERS: Final = frozenset({DELETION_COST, *HONOURED})
STATUS: Final = ("phase", "reason", "observedGeneration")


@dataclass(frozen=True)
class StreamPosition:
    """Up to where a reader knows the changes of a pool: an entry, under a number of lists and an incarnation."""

    entry: bytes
    lists: bytes
    server: str


@dataclass(frozen=True)
class PodChange:
    """A pod as it was at a version. `gone`: it was deleted at that version, or has left the selection."""

    pod: Pod
    gone: bool


class PoolPodChanges:
    """Writes and reads the changes of pools, each named namespace/name."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def record(self, changes: Iterable[PodChange]) -> None:
        """Append changes to the streams of the pools that the pods name, by label or owner. One round trip."""
        pipe: Any = self._redis.pipeline(transaction=False)
        for change in changes:
            pod = orjson.dumps(compact(change.pod))
            fields: Any = {"pod": pod, "gone": int(change.gone)} if len(pod) <= MOST_BYTES else {"list": 1}
            for pool in pools_of(change.pod):
                pipe.xadd(_stream(pool), fields, maxlen=KEPT, approximate=True)
                pipe.expire(_stream(pool), FORGOTTEN_AFTER)
        if pipe:
            pipe.execute()

    def count_list(self) -> None:
        """Make every reader list: changes before the publisher's list may be missing."""
        self._redis.incr(LISTS)

    def begin(self, pool: str) -> StreamPosition:
        """Return a position from which changes are read. Call this before the list that they follow."""
        server = incarnation(self._redis)
        pipe: Any = self._redis.pipeline(transaction=True)
        pipe.get(LISTS)
        pipe.xadd(_stream(pool), {"begin": 1}, maxlen=KEPT, approximate=True)
        pipe.expire(_stream(pool), FORGOTTEN_AFTER)
        lists, entry, _ = pipe.execute()
        return StreamPosition(entry, lists or b"", server)

    def since(self, pool: str, position: StreamPosition) -> tuple[Collection[PodChange], StreamPosition] | None:
        """Return the changes after a position, and the new position. None: some may be missing."""
        pipe: Any = self._redis.pipeline(transaction=True)
        pipe.get(LISTS)
        pipe.xrange(_stream(pool), position.entry)
        lists, entries = pipe.execute()
        if (lists or b"") != position.lists or incarnation(self._redis) != position.server:
            return None
        if not entries or entries[0][0] != position.entry or any(b"list" in fields for _, fields in entries[1:]):
            return None
        changes = [_change(fields) for _, fields in entries[1:] if b"pod" in fields]
        return changes, replace(position, entry=entries[-1][0])


def compact(pod: KubeObject) -> Json:
    """Return what the run of a pool reads of a pod. Of annotations, it reads ours and those of autoscalers."""
    metadata = {key: value for key, value in pod.metadata.items() if key != "managedFields"}
    metadata["annotations"] = {
        key: value for key, value in pod.annotations.items() if key.startswith(PREFIX) or key in AUTOSCALERS
    }
    status = {key: pod.status[key] for key in STATUS if key in pod.status}
    status["conditions"] = [{key: entry.get(key) for key in ("type", "status")} for entry in pod.conditions]
    states = [{"state": container.get("state")} for container in pod.status.get("containerStatuses") or ()]
    return body_of(
        metadata, spec={"nodeName": pod.spec.get("nodeName")}, status={**status, "containerStatuses": states}
    )


def pools_of(pod: KubeObject) -> set[str]:
    """Return the pools that the pod's label and owners name; whoever may write the pod may write any text there."""
    names = [pod.labels.get(POOL), *pod.owners_of(POD_POOL.name)]
    return {f"{pod.namespace}/{name}" for name in names if is_name(name)}


def _change(fields: dict[bytes, bytes]) -> PodChange:
    return PodChange(Pod(orjson.loads(fields[b"pod"])), fields[b"gone"] == b"1")


def _stream(pool: str) -> str:
    return f"{{poolpods:{pool}}}changes"
