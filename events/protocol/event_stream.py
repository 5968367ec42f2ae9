"""The stream `berthmaster:events` for its writers: each writer keeps the stream to the same settings.

Each append limits the number of entries, which costs nothing. The publisher measures the size periodically: only its
entries can have any length, and one measurement serves all writers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from redis import Redis
from redis.client import Pipeline

from berthmaster.events import STREAM_FIELD
from berthmaster.routing import EVENTS_STREAM
from events.settings import StreamSettings


class EventStream:
    """The Redis Stream of events that other services may follow."""

    def __init__(self, settings: StreamSettings) -> None:
        self.settings = settings

    @property
    def kept(self) -> bool:
        """False: nothing is written."""
        return self.settings.length > 0

    def append(self, to: Redis | Pipeline, entries: Iterable[bytes]) -> None:
        """Append the entries. A pipeline sends them together with the change that they report."""
        if not self.kept:
            return
        add: Callable[..., object] = to.execute_command  # xadd() costs twice the time
        for event in entries:
            add("XADD", EVENTS_STREAM, "MAXLEN", "~", self.settings.length, "*", STREAM_FIELD, event)

    def trim(self, redis: Redis) -> None:
        """Remove the oldest entries of a stream that takes more memory than its limit.

        The next call measures again, because old entries may be smaller than new ones.
        """
        pipeline: Any = redis.pipeline(transaction=False)
        pipeline.memory_usage(EVENTS_STREAM, samples=0)  # 0: all entries; a sample would be the oldest
        pipeline.xlen(EVENTS_STREAM)
        size, length = pipeline.execute()
        if size and size > self.settings.size:
            redis.xtrim(EVENTS_STREAM, maxlen=length * self.settings.size // size, approximate=False)
