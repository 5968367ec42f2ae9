"""Send hints to a list that is the queue of a Celery broker on Redis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from redis import Redis

from berthmaster import routing

Publish: TypeAlias = Callable[[Sequence[str]], None]
"""Sends a hint for each key. May raise: the sweep finds hints that were not sent."""

CHUNK: Final = 500


def push(redis: Redis, queue: str = routing.LATENCY) -> Publish:
    """Return a function that sends hints to the list `queue` of a broker on Redis."""

    def publish(keys: Sequence[str]) -> None:
        if not keys:
            return
        pipeline = redis.pipeline(transaction=False)
        for start in range(0, len(keys), CHUNK):
            pipeline.lpush(queue, *(routing.hint(key) for key in keys[start : start + CHUNK]))
        pipeline.execute()

    return publish
