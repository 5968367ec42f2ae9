"""Send marks to Redis under one epoch: fenced, and in one round trip with their stream entries.

While Redis does not answer, the batch is kept and sent again. That is safe because a mark that arrived already is not
newer the second time. It is enough because a Redis that lost its state refuses the mark: then the epoch is lost, and
the next epoch begins with a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from threading import Event
from typing import Any, Final, TypeVar

import orjson
import structlog
from redis import RedisError
from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_random_exponential
from tenacity.nap import sleep_using_event
from tenacity.stop import stop_when_event_set

from berthmaster import tracing
from berthmaster.events import changed, deleted
from berthmaster.redis.refusals import warn
from events.protocol.event_stream import EventStream
from events.protocol.schemas import cloud_event
from events.publisher.lease import Lease
from events.publisher.metrics import Metrics
from events.publisher.resources import Resource
from events.settings import PublisherSettings
from events.workqueue import LOST, Mark, Workqueue

log = structlog.get_logger(__name__)

CHUNK: Final = 100
"""Marks a script: limits how long other clients wait for Redis behind it, some 3 ms."""
T = TypeVar("T")


class EpochLostError(Exception):
    """No more may be sent under this epoch. The text is the reason."""


class MarkSender:
    """Sends marks of one epoch. `over` ends the retries of a batch that Redis does not take, not a running batch."""

    def __init__(
        self,
        queue: Workqueue,
        lease: Lease,
        epoch: str,
        over: Event,
        settings: PublisherSettings,
        metrics: Metrics,
        stream: EventStream,
    ) -> None:
        self.queue, self.lease, self.epoch, self.over = queue, lease, epoch, over
        self.settings, self.metrics, self.stream = settings, metrics, stream

    def send(self, resource: Resource, marks: Sequence[Mark], relist: bool = False) -> None:
        """Send marks. Raises EpochLostError. Set `relist` only before the stamp of the epoch."""
        for chunk in chunks(marks):
            with tracing.span("publish", resource=resource.name), self.metrics.sending(resource.name):
                self.patiently(resource, partial(self.attempt, resource, chunk, relist))
            self.metrics.published.labels(resource.name).inc(len(chunk))

    def attempt(self, resource: Resource, marks: Sequence[Mark], relist: bool) -> None:
        """Send one chunk with its stream entries, once. Raises EpochLostError and RedisError."""
        self.require_lease()
        limit, length = self.stream.settings.entry_size, self.stream.settings.length
        history, now = self.queue.history, self.now()
        entries = [entry(resource, mark, history, now, limit) for mark in marks] if self.stream.kept else []
        if LOST in self.queue.marks(self.epoch, marks, relist, entries, length):
            raise EpochLostError("state_lost")

    def now(self) -> str:
        """Return the time by the API server's clock, as the events have it."""
        return self.lease.kube.clock.now().isoformat()

    def require_lease(self) -> None:
        """Raise EpochLostError without the Lease, by our own clock. Later writes are fenced by the epoch."""
        if not self.lease.held:
            raise EpochLostError("lease_lost")

    def patiently(self, resource: Resource, act: Callable[[], T]) -> T:
        """Repeat `act` until it succeeds. Raises its RedisError when the term is over."""
        retrying = Retrying(
            retry=retry_if_exception_type(RedisError),
            wait=wait_random_exponential(multiplier=0.05, max=self.settings.retry_longest),
            stop=stop_when_event_set(self.over),
            sleep=sleep_using_event(self.over),
            before_sleep=lambda state: self.note(resource, state),
            reraise=True,
        )
        return retrying(act)

    def note(self, resource: Resource, state: RetryCallState) -> None:
        """Count and log a retry."""
        self.metrics.redis_retries.labels(resource.name).inc()
        error = state.outcome.exception() if state.outcome else None
        warn(log, "redis_unreachable", error, resource=resource.name, attempt=state.attempt_number)


def entry(resource: Resource, mark: Mark, history: int, time: str, limit: int) -> bytes:
    """Return the stream entry of a mark. Its id names the version, so that readers recognise a repeated event.

    A snapshot of more than `limit` bytes is left out.
    """
    kind = deleted(resource.kind) if mark.gone else changed(resource.kind)
    data: dict[str, Any] = {
        "key": mark.key,
        "history": history,
        "version": mark.version,
        "uid": mark.uid,
        "snapshot": orjson.Fragment(mark.body),
    }
    if len(mark.body) > limit:
        data |= {"snapshot": None, "omitted": len(mark.body)}
    return cloud_event(kind, f"{mark.uid}:{history}.{mark.version}", mark.key, time, data)


def chunks(marks: Sequence[Mark]) -> Iterator[Sequence[Mark]]:
    """Yield the marks in chunks of CHUNK."""
    return (marks[start : start + CHUNK] for start in range(0, len(marks), CHUNK))
