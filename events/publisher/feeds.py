"""Turn the lists and batches of a watch into snapshots and marks.

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
        """Prepare for a list, before the request: what Redis has now must be in that list."""

    def listing(self, listing: Listing, relist: bool) -> None:
        """Take a full list. `relist`: before the stamp of the epoch."""

    def batch(self, batch: Batch) -> None:
        """Take the events of a batch."""


class SnapshotFeed:
    """Keeps Redis in step with one kind. `keys` are the stored keys, so that other objects cost no round trip."""

    def __init__(self, resource: Resource, queue: Workqueue, sender: MarkSender, metrics: Metrics) -> None:
        self.resource, self.queue, self.sender, self.metrics = resource, queue, sender, metrics
        self.keys: set[str] = set()
        self.stored: dict[str, StoredVersion] = {}

    def prepare(self) -> None:
        """Read the stored versions, in our epoch: nobody else makes snapshots then; workers only raise versions."""
        stored = self.sender.patiently(self.resource, self.queue.stored_versions)
        self.stored = {key: old for key, old in stored.items() if self.resource.owns(key)}

    def listing(self, listing: Listing, relist: bool) -> None:
        """Mark the differences between the list and Redis. Raises NewHistoryError."""
        stored, self.stored, history = self.stored, {}, self.queue.history
        require_history(listing.items, stored, listing.version, history)
        self.sender.send(self.resource, list(difference(listing.items, stored, listing.version, history)), relist)
        self.keys = {item.mark.key for item in listing.items if item.opted or item.mark.key in stored}

    def batch(self, batch: Batch) -> None:
        """Mark the changes of a batch."""
        marks = self.marks(batch.events)
        if marks:
            self.sender.send(self.resource, marks)
        for mark in marks:
            (self.keys.discard if mark.gone else self.keys.add)(mark.key)

    def marks(self, events: list[Json]) -> list[Mark]:
        """Return the last version of each key that concerns us; earlier versions of the batch are outdated."""
        latest = {self.resource.key(KubeObject(event["object"])): event for event in events}
        items = [self.resource.item(event["object"], event["type"] == "DELETED") for event in latest.values()]
        marks = [mark for mark, opted in items if opted or mark.key in self.keys]
        self.metrics.coalesced.labels(self.resource.name).inc(len(events) - len(latest))
        self.metrics.dropped.labels(self.resource.name, "not_opted_in").inc(len(items) - len(marks))
        return marks


def known_keys(queue: Workqueue, kind: str) -> set[str]:
    """Return the keys of every stored object of a kind that is not gone."""
    return {key for key, stored in queue.stored_versions().items() if key.startswith(f"{kind}/") and not stored.gone}
