"""How the keys of the workqueue are, one and all together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson
from redis import Redis

from berthmaster.kinds import ReadyClass
from berthmaster.redis.incarnation import INCARNATION
from events.workqueue.entries import KeyState, Snapshot, snapshot
from events.workqueue.shard import CLASSES, FAST


class Publication(NamedTuple):
    """What publishers have left in this Redis. `epoch`: the last assumed one, `<number>:<identity>`, None before any.

    `stamped`: a publisher has listed everything under the Redis process that answers.
    """

    epoch: str | None
    stamped: bool


def publication(redis: Redis, keys: Mapping[str, str]) -> Publication:
    """Read what publishers have left."""
    pipeline = redis.pipeline(transaction=False)
    pipeline.hmget(keys["meta"], "epoch", "run")
    pipeline.echo(INCARNATION)
    (epoch, stamp), server = pipeline.execute()
    return Publication(epoch.decode() if epoch else None, stamp == server)


def newest_token(redis: Redis, keys: Mapping[str, str]) -> int:
    """Return the number of the token that was granted last, 0 before the first. The next one is higher."""
    number: Any = redis.hget(keys["meta"], "tok")
    return int(number or 0)


def snapshot_of(redis: Redis, keys: Mapping[str, str], key: str) -> Snapshot | None:
    """Return the stored snapshot of a key, None if there is none."""
    stored: Any = redis.hget(keys["snap"], key)
    return snapshot(stored)


def snapshots(redis: Redis, keys: Mapping[str, str]) -> Iterator[tuple[str, Snapshot]]:
    """Yield every key with its snapshot, in pages; not one moment."""
    for key, stored in redis.hscan_iter(keys["snap"], count=1000):
        if parsed := snapshot(stored):
            yield key.decode(), parsed


def is_absent(redis: Redis, keys: Mapping[str, str], key: str) -> bool:
    """Tell whether the cluster has no such object. False also until a publisher has listed all under this Redis."""
    pipe = redis.pipeline(transaction=True)
    pipe.hget(keys["meta"], "run")
    pipe.hget(keys["snap"], key)
    pipe.echo(INCARNATION)
    run, stored, server = pipe.execute()
    last = snapshot(stored)
    return bool(run == server) and (last is None or last.gone)


def key_state(redis: Redis, keys: Mapping[str, str], key: str) -> KeyState:
    """Return the state of a key at one moment."""
    pipe = redis.pipeline(transaction=True)
    for name in ("dirty", "hold"):
        pipe.hexists(keys[name], key)
    for name in (*(f"ready:{ready_class}" for ready_class in CLASSES), "timer"):
        pipe.zscore(keys[name], key)
    for name in ("tries", "pools"):
        pipe.hget(keys[name], key)
    pipe.time()
    dirty, held, *ready, due, tries, pools, (seconds, micros) = pipe.execute()
    now = int(seconds) * 1000 + int(micros) // 1000
    since, end = max((int(ms) for ms in ready if ms is not None), default=None), None if due is None else int(due)
    return KeyState(bool(dirty), bool(held), since, end, now, int(tries or 0), tuple(orjson.loads(pools or b"[]")))


def depth(redis: Redis, keys: Mapping[str, str]) -> dict[str, float]:
    """Count the keys that are dirty, ready (in all, and slow ones), held and in the timer (leases, waits).

    `oldest_ready_seconds`: since when the oldest ready key is ready that is not slow.
    """
    pipeline = redis.pipeline(transaction=False)
    for ready_class in CLASSES:
        pipeline.zcard(keys[f"ready:{ready_class}"])
    for ready_class in FAST:
        pipeline.zrange(keys[f"ready:{ready_class}"], 0, 0, withscores=True)
    pipeline.hlen(keys["dirty"])
    pipeline.hlen(keys["hold"])
    pipeline.zcard(keys["timer"])
    pipeline.time()
    *ready, dirty, held, timer, (seconds, microseconds) = pipeline.execute()
    numbers, oldest = ready[: len(CLASSES)], [first for first in ready[len(CLASSES) :] if first]
    now = int(seconds) + int(microseconds) / 1e6
    age = max((now - float(first[0][1]) / 1000 for first in oldest), default=0.0)
    of_class = dict(zip(CLASSES, numbers, strict=True))
    counts = {"dirty": dirty, "ready": sum(numbers), "slow": of_class[ReadyClass.SLOW]}
    return {**counts, "held": held, "timer": timer, "oldest_ready_seconds": max(age, 0.0)}


def ready_by_class(redis: Redis, keys: Mapping[str, str]) -> dict[str, int]:
    """Count the ready keys of each class."""
    pipeline = redis.pipeline(transaction=False)
    for ready_class in CLASSES:
        pipeline.zcard(keys[f"ready:{ready_class}"])
    return dict(zip(map(str, CLASSES), pipeline.execute(), strict=True))
