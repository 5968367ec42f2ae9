"""The Redis Stream of events for other services, CloudEvents JSON: the workers' side."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from redis import Redis

from berthmaster.routing import pod_key
from events.protocol.event_stream import EventStream
from events.protocol.schemas import ALLOCATION_FAILED, AllocationFailed, cloud_event

REPORTER = "berthmaster-worker"


class EventJournal:
    """Writes workers' events to the stream."""

    def __init__(self, redis: Redis, stream: EventStream, now: Callable[[], datetime]) -> None:
        self._redis, self._stream, self._now = redis, stream, now

    def allocation_failed(self, pool: str, pod: str, uid: str, epoch: str, ports: int) -> None:
        """Write one event a failure: which pod waits for how many ports, at which capacity epoch."""
        namespace, name = pod.split("/")
        key = pod_key(namespace, name)
        message = f"no free port for {ports} wanted at epoch {epoch}"
        data = AllocationFailed(key=key, uid=uid, reporter=REPORTER, message=message, pool=pool)
        now = self._now().isoformat()
        event = cloud_event(ALLOCATION_FAILED, f"{uid}/{pool}/{epoch}", key, now, data.model_dump())
        self._stream.append(self._redis, [event])
