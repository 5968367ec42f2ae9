"""The ready queues of the workqueue, as they are in Redis."""

from __future__ import annotations

from typing import Any, Final

from redis import Redis

from berthmaster.kinds import ReadyClass

READY: Final = {ready_class: f"{{queue}}ready:{ready_class}" for ready_class in ReadyClass}
"""Class -> its queue."""
SENT: Final = "{queue}sent"
"""The hints that no drain has begun."""


def ready_keys(redis: Redis) -> list[str]:
    """The ready keys of all classes, oldest first."""
    entries: list[Any] = [entry for queue in READY.values() for entry in redis.zrange(queue, 0, -1, withscores=True)]
    return [key.decode() for key, _ in sorted(entries, key=lambda entry: entry[1])]


def classes_of(redis: Redis, key: str) -> list[ReadyClass]:
    """The classes in whose queue the key is."""
    return [ready_class for ready_class, queue in READY.items() if redis.zscore(queue, key) is not None]
