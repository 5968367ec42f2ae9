"""Turn what a watch yields into snapshots and marks.

A feed belongs to one term of the publisher and to one thread at a time.
"""

from __future__ import annotations

from typing import Protocol

from domain.kubernetes.objects import KubeObject
from events.protocol.schemas import Json
from events.publisher.diff import difference
from events.publisher.history import require_history
from events.publisher.metrics import Metrics
from events.publisher.resources import Resource
from events.publisher.sender import MarkSender
from events.publisher.watch import Batch, Listing
from events.workqueue import Mark, StoredVersion, Workqueue


class Feed(Protocol):
    """Takes the lists and batches of one watch."""

    def prepare(self) -> None:
        """Called before a list is requested: what Redis has now must be in that list."""

    def listing(self, listing: Listing, relist: bool) -> None: ...

    def batch(self, batch: Batch) -> None: ...


class SnapshotFeed:
    """Keeps Redis in step with one kind. `keys` are those that Redis has, so that others cost no round trip."""

    def __init__(self, resource: Resource, queue: Workqueue, sender: MarkSender, metrics: Metrics) -> None:
        self.resource, self.queue, self.sender, self.metrics = resource, queue, sender, metrics
        self.keys: set[str] = set()
        self.stored: dict[str, StoredVersion] = {}

    def prepare(self) -> None:
        """Call it in an epoch of ours: nobody else makes snapshots then, and workers only raise versions."""
        stored = self.sender.patiently(self.resource, self.queue.stored_versions)
        self.stored = {key: old for key, old in stored.items() if self.resource.owns(key)}

    def listing(self, listing: Listing, relist: bool) -> None:
        stored, self.stored, history = self.stored, {}, self.queue.history
        require_history(listing.items, stored, listing.version, history)
        self.sender.send(self.resource, list(difference(listing.items, stored, listing.version, history)), relist)
        self.keys = {item.mark.key for item in listing.items if item.opted or item.mark.key in stored}

    def batch(self, batch: Batch) -> None:
        marks = self.marks(batch.events)
        if marks:
            self.sender.send(self.resource, marks)
        for mark in marks:
            (self.keys.discard if mark.gone else self.keys.add)(mark.key)

    def marks(self, events: list[Json]) -> list[Mark]:
        """The last version of each key that concerns us. Earlier versions are out of date already."""
        latest = {self.resource.key(KubeObject(event["object"])): event for event in events}
        items = [self.resource.item(event["object"], event["type"] == "DELETED") for event in latest.values()]
        marks = [mark for mark, opted in items if opted or mark.key in self.keys]
        self.metrics.coalesced.labels(self.resource.name).inc(len(events) - len(latest))
        self.metrics.dropped.labels(self.resource.name, "not_opted_in").inc(len(items) - len(marks))
        return marks


def known_keys(queue: Workqueue, kind: str) -> set[str]:
    """Of every object of a kind that Redis has and that is there."""
    return {key for key, stored in queue.stored_versions().items() if key.startswith(f"{kind}/") and not stored.gone}
