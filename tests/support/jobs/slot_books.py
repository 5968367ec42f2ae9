"""All that a slot ledger has stored, of one moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson
from redis import Redis

COUNTED = {"used": ("placed", "running", "cancelling"), "reserved": ("reserved", "confirmed")}


@dataclass(frozen=True)
class SlotBooks:
    """`free`: class of slots -> pods of the index with their order. `offered`: pods that claims may have, and facts.

    `on_pods`: job -> UID of the pod that it is on. `limits`: jobs with a deadline, `stopping`: jobs to be stopped.
    """

    pods: dict[str, Any]
    jobs: dict[str, Any]
    meta: dict[str, str]
    keyed: dict[str, str]
    free: dict[str, dict[str, int]]
    offered: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    on_pods: dict[str, str] = field(default_factory=dict)
    limits: frozenset[str] = frozenset()
    stopping: frozenset[str] = frozenset()

    @property
    def verified(self) -> bool:
        """Whether every pod has told what it runs."""
        return "inc" in self.meta

    def count(self, name: str) -> int:
        """Jobs whose slot is `used`, or `reserved`."""
        return sum(job["s"] in COUNTED[name] for job in self.jobs.values())


def read(redis: Redis, prefix: str) -> SlotBooks:
    known: Any = redis.smembers(f"{prefix}classes")
    classes = sorted(name.decode() for name in known)
    pipe = redis.pipeline(transaction=True)
    for name in ("pods", "jobs", "meta", "keyed"):
        pipe.hgetall(f"{prefix}{name}")
    for name in classes:
        pipe.zrange(f"{prefix}free:{name}", 0, -1, withscores=True)
    pipe.hgetall(f"{prefix}on-pods")
    pipe.zrange(f"{prefix}claimable", 0, -1)
    pipe.hkeys(f"{prefix}claimable-facts")
    pipe.zrange(f"{prefix}limits", 0, -1)
    pipe.zrange(f"{prefix}stopping", 0, -1)
    pods, jobs, meta, keyed, *free, on_pods, offered, facts, limits, stopping = pipe.execute()
    return SlotBooks(
        _told(pods),
        _told(jobs),
        {key.decode(): value.decode() for key, value in meta.items()},
        {key.decode(): value.decode() for key, value in keyed.items()},
        {name: {uid.decode(): int(score) for uid, score in each} for name, each in zip(classes, free, strict=True)},
        (frozenset(uid.decode() for uid in offered), frozenset(uid.decode() for uid in facts)),
        {job.decode(): place.decode().partition(" ")[0] for job, place in on_pods.items()},
        frozenset(job.decode() for job in limits),
        frozenset(job.decode() for job in stopping),
    )


def _told(flat: dict[bytes, bytes]) -> dict[str, Any]:
    return {key.decode(): orjson.loads(value) for key, value in flat.items()}
