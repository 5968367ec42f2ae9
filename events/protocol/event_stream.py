"""The stream `berthmaster:events` as its writers see it: whoever appends keeps it to the same settings.

Each entry says how many there may be, which costs nothing. Their size is measured on a period, by the publisher: it
alone writes entries of any length, and one measurement stands for all writers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from redis import Redis
from redis.client import Pipeline

from berthmaster.routing import EVENTS_STREAM
from events.protocol.schemas import STREAM_FIELD
from events.settings import StreamSettings


class EventStream:
    """The Redis Stream of events that other services may follow."""

    def __init__(self, settings: StreamSettings) -> None:
        self.settings = settings

    @property
    def kept(self) -> bool:
        """False: nothing is to be written."""
        return self.settings.length > 0

    def append(self, to: Redis | Pipeline, entries: Iterable[bytes]) -> None:
        """With a pipeline, in the round trip of what the entries tell of."""
        if not self.kept:
            return
        add: Callable[..., object] = to.execute_command  # xadd() costs twice the time
        for event in entries:
            add("XADD", EVENTS_STREAM, "MAXLEN", "~", self.settings.length, "*", STREAM_FIELD, event)

    def trim(self, redis: Redis) -> None:
        """Removes the oldest entries of a stream that takes more memory than it may. What is left is measured the next
        time, because old entries may be smaller than new ones.
        """
        pipeline: Any = redis.pipeline(transaction=False)
        pipeline.memory_usage(EVENTS_STREAM, samples=0)  # 0: all of it; some would be the oldest
        pipeline.xlen(EVENTS_STREAM)
        size, length = pipeline.execute()
        if size and size > self.settings.size:
            redis.xtrim(EVENTS_STREAM, maxlen=length * self.settings.size // size, approximate=False)
