"""What this process knows of the pods of pools: a list, the changes since, and the answers of its own writes.

So the cost of a run follows what has changed. Nothing here is trusted: each write names the version that it was decided
from, and the API server refuses it for any other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from domain.kubernetes.names import POOL
from domain.kubernetes.objects import Pod
from events.protocol.pool_pod_changes import PodChange, PoolPodChanges, StreamPosition, compact
from workers.pod_pools.pod_facts import PodFacts


@dataclass(frozen=True)
class CachedPods:
    """The pods of one pool by UID, up to a position. `listed`: the monotonic time of the list.

    `spec`: UID and generation of the pool for which they were listed. `ended`: UID -> version of the end of pods that
    have ended since the list. A run appends what it has written when it ends, so that may come after the end of a pod.
    `noticed`: UID -> version in which a claimed pod is known to its claim. `facts` of the pods.
    """

    pods: Mapping[str, Pod]
    position: StreamPosition
    listed: float
    spec: tuple[str, int]
    ended: Mapping[str, int] = field(default_factory=dict)
    noticed: Mapping[str, int] = field(default_factory=dict)
    facts: PodFacts = field(default_factory=PodFacts)

    def after(self, changes: Collection[PodChange], pool: str, position: StreamPosition) -> CachedPods:
        """Return the pods after the changes. Only a newer version replaces a pod; the end of a pod is final."""
        name, pods, ended = pool.partition("/")[2], dict(self.pods), dict(self.ended)
        for change in changes:
            pod, before = change.pod, pods.get(change.pod.uid)
            if pod.version < (before.version if before else ended.get(pod.uid, 0)):
                continue
            if change.gone or pod.labels.get(POOL) != name:
                pods.pop(pod.uid, None)
                ended[pod.uid] = pod.version
            elif before or pod.version > ended.get(pod.uid, 0):
                pods[pod.uid] = pod
        return replace(self, pods=pods, position=position, ended=ended)


@dataclass(frozen=True)
class PodCache:
    """The known pods of all pools. `list_every`: after which a pool is listed again, 0 for each time."""

    changes: PoolPodChanges
    list_every: timedelta
    clock: Callable[[], float] = time.monotonic
    pools: dict[str, CachedPods] = field(default_factory=dict)

    def recall(self, pool: str, spec: tuple[str, int]) -> CachedPods | None:
        """Return the pods as they are by now. None: they must be listed."""
        cached = self.pools.get(pool)
        if cached is None or cached.spec != spec or self.clock() - cached.listed >= self.list_every.total_seconds():
            return None
        news = self.changes.since(pool, cached.position)
        if news is None:
            return None
        changes, position = news
        return cached.after(changes, pool, position)

    def begin(self, pool: str, spec: tuple[str, int]) -> CachedPods | None:
        """Return no pods, at the position of a list that follows. None: lists are not remembered."""
        if not self.list_every:
            return None
        now = self.clock()
        for name, cached in list(self.pools.items()):  # of pools that are gone, or that other processes care for
            if now - cached.listed >= self.list_every.total_seconds():
                self.pools.pop(name, None)
        return CachedPods({}, self.changes.begin(pool), now, spec)

    def keep(self, pool: str, cached: CachedPods, pods: Mapping[str, Pod], written: Collection[str]) -> None:
        """Remember the pods as a run leaves them, and let other processes know what it has written."""
        small = {uid: pod if cached.pods.get(uid) is pod else Pod(compact(pod)) for uid, pod in pods.items()}
        cached.facts.forget_others(small)
        self.pools[pool] = replace(cached, pods=small)
        self.share(pods, written)

    def share(self, pods: Mapping[str, Pod], written: Collection[str]) -> None:
        """Let other processes know the pods that a run has written."""
        self.changes.record(PodChange(pods[uid], gone=False) for uid in written if uid in pods)
