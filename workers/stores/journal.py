"""What other services may follow: the capped Redis Stream of events, CloudEvents JSON, from the workers' side."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from redis import Redis

from events.routing import EVENTS_STREAM, pod_key
from events.schemas import ALLOCATION_FAILED, STREAM_FIELD, AllocationFailed, cloud_event

LENGTH = 10_000
REPORTER = "berthmaster-worker"


class Journal:
    def __init__(self, redis: Redis, now: Callable[[], datetime]) -> None:
        self._redis, self._now = redis, now

    def allocation_failed(self, pool: str, pod: str, uid: str, epoch: str, ports: int) -> None:
        """One event a failure; followers see which pod waits for how many ports, at which capacity epoch."""
        namespace, name = pod.split("/")
        key = pod_key(namespace, name)
        message = f"no free port for {ports} wanted at epoch {epoch}"
        data = AllocationFailed(key=key, uid=uid, reporter=REPORTER, message=message, pool=pool)
        now = self._now().isoformat()
        event = cloud_event(ALLOCATION_FAILED, f"{uid}/{pool}/{epoch}", key, now, data.model_dump())
        self._redis.xadd(EVENTS_STREAM, {STREAM_FIELD: event}, maxlen=LENGTH, approximate=True)
