"""Claims: kept as any other kind is; whatever becomes of one, the set that it belongs to runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from events.feeds import SnapshotFeed, known_keys
from events.routing import pod_claim_set_key
from events.schemas import Json
from events.watch import Batch, Listing

SET = "PodClaimSet"


class ClaimFeed(SnapshotFeed):
    def listing(self, listing: Listing, relist: bool) -> None:
        """A set's own list comes with this one, and every set runs once after a list that differs."""
        super().listing(listing, relist)
        self.wake(known_keys(self.queue, "podclaimset"))

    def batch(self, batch: Batch) -> None:
        super().batch(batch)
        self.wake(sets_of(event["object"] for event in batch.events))

    def wake(self, sets: set[str]) -> None:
        if sets:
            self.sender.patiently(self.resource, lambda: self.queue.touch(sorted(sets)))


def sets_of(claims: Iterable[Json]) -> set[str]:
    """Keys of the sets that own these claims."""
    owned: list[tuple[Any, Any]] = [
        (claim["metadata"]["namespace"], owner)
        for claim in claims
        for owner in claim["metadata"].get("ownerReferences") or ()
    ]
    return {pod_claim_set_key(namespace, owner["name"]) for namespace, owner in owned if owner.get("kind") == SET}
