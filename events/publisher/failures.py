"""Append other controllers' Events of failed allocations to the stream, and wake the pods that they name."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, Final, NamedTuple

import orjson
from redis import Redis

from berthmaster.events import ALLOCATION_FAILED, AllocationFailed
from berthmaster.routing import pod_key
from domain.kubernetes.objects import KubeObject, version_of
from events.protocol.schemas import Json, cloud_event
from events.publisher.feeds import SnapshotFeed
from events.publisher.history import NewHistoryError
from events.publisher.predicates import of_others, reporter
from events.publisher.resources import Resource
from events.publisher.sender import MarkSender
from events.publisher.watch import Batch, Listing
from events.workqueue import Mark, Workqueue

FAILURES_SEEN: Final = "berthmaster:failures-seen"
"""`<history>:<version>` of the newest Kubernetes Event that became an event of ours, so that no publisher repeats it.

An earlier release stored only a version; it is of the first history.
"""


class Position(NamedTuple):
    """The version up to which Kubernetes Events were read, in one history of the API."""

    history: int
    version: int


LONGEST_NAME: Final = 253
LONGEST_MESSAGE: Final = 1024
"""Characters that are kept: the API limits neither in the old form of a Kubernetes Event."""


class FailureFeed:
    """Appends other controllers' `AllocationFailed` to the stream, and wakes the pod if it is stored."""

    def __init__(
        self, resource: Resource, redis: Redis, queue: Workqueue, sender: MarkSender, pods: SnapshotFeed
    ) -> None:
        self.resource, self.redis, self.queue, self.sender, self.pods = resource, redis, queue, sender, pods
        self.last = 0

    def prepare(self) -> None:
        """Read the last version that was appended, 0 in a new history of the API."""
        stored: Any = self.sender.patiently(self.resource, lambda: self.redis.get(FAILURES_SEEN))
        last = position(stored or b"0")
        self.last = last.version if last.history == self.queue.history else 0

    def listing(self, listing: Listing, relist: bool) -> None:
        """Append the listed Events that are new. Raises NewHistoryError if the list is older than the last one."""
        del relist  # no stamp covers Events
        if self.last > listing.version:
            raise NewHistoryError(f"a list of events is at version {listing.version}, after {self.last}")
        items = sorted((item.mark for item in listing.items if item.mark.version > self.last), key=by_version)
        self.tell([orjson.loads(mark.body) for mark in items], listing.version)

    def batch(self, batch: Batch) -> None:
        """Append the Events of a batch; deletions are skipped, because Events expire."""
        events = [event["object"] for event in batch.events if event["type"] != "DELETED"]  # Events expire
        if events:
            self.tell(events, version_of(events[-1]))

    def tell(self, events: list[Json], version: int) -> None:
        """Wake the keys first, then append: a crash in between repeats events and loses none."""
        failures = [(event, failure(event)) for event in events if of_others(event)]
        self.sender.require_lease()
        self.sender.patiently(self.resource, lambda: self.touch([failed.key for _, failed in failures], self.pods.keys))
        entries = [stream_entry(*pair, self.sender.now()) for pair in failures]
        self.sender.patiently(self.resource, lambda: self.append(entries, version))
        self.sender.metrics.published.labels(self.resource.name).inc(len(failures))

    def touch(self, keys: list[str], ours: Container[str]) -> None:
        """Mark those keys dirty that are in `ours`."""
        if some := [key for key in dict.fromkeys(keys) if key in ours]:
            self.queue.touch(some)

    def append(self, entries: list[bytes], version: int) -> None:
        """Append the entries, and store the version up to which Events were read."""
        pipeline = self.redis.pipeline(transaction=False)
        self.sender.stream.append(pipeline, entries)
        pipeline.set(FAILURES_SEEN, f"{self.queue.history}:{version}")
        pipeline.execute()


def position(stored: bytes) -> Position:
    """Return the position of the text in Redis."""
    history, _, version = stored.rpartition(b":")
    return Position(int(history or 1), int(version))


def failure(event: Mapping[str, Any]) -> AllocationFailed:
    """Return the data of a Kubernetes Event. A key of another kind than Pod is kind (lower case), namespace, name."""
    about = event.get("involvedObject") or {}
    kind, namespace, name, uid = (str(about.get(f) or "")[:LONGEST_NAME] for f in ("kind", "namespace", "name", "uid"))
    key = pod_key(namespace, name) if kind == "Pod" else "/".join(filter(None, (kind.lower(), namespace, name)))
    message = str(event.get("message") or "")[:LONGEST_MESSAGE]
    return AllocationFailed(key=key, uid=uid or None, reporter=reporter(event)[:LONGEST_NAME], message=message)


def stream_entry(event: Mapping[str, Any], failed: AllocationFailed, time: str) -> bytes:
    """Return the entry of the event stream for an allocation failure."""
    written = KubeObject(event)
    identity = f"{written.metadata.get('uid')}:{written.resource_version}"
    return cloud_event(ALLOCATION_FAILED, identity, failed.key, time, failed.model_dump())


def by_version(mark: Mark) -> int:
    """Return the sort key: the version."""
    return mark.version
