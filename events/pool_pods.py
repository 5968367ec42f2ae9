"""Pods of pod pools: they are never stored, and whatever becomes of one, its pool runs."""

from __future__ import annotations

from events.resources import Resource
from events.sender import Sender
from events.watch import Batch, Listing
from events.workqueue import Workqueue


class PoolPodFeed:
    """Pods of pod pools: whatever becomes of one, its pool runs."""

    def __init__(self, resource: Resource, queue: Workqueue, sender: Sender) -> None:
        self.resource, self.queue, self.sender = resource, queue, sender

    def listing(self, listing: Listing, relist: bool) -> None:
        del relist  # a pool's run lists its pods itself
        self.touch({item.mark.key for item in listing.items})

    def batch(self, batch: Batch) -> None:
        self.touch({self.resource.key(event["object"]["metadata"]) for event in batch.events})

    def touch(self, keys: set[str]) -> None:
        if keys:
            self.sender.require_lease()
            self.sender.patiently(self.resource, lambda: self.queue.touch(sorted(keys)))
