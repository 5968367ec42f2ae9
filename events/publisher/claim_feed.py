"""Claims: kept as any other kind is; whatever becomes of one, the set that it belongs to runs."""

from __future__ import annotations

from collections.abc import Iterable

from berthmaster.kinds import POD_CLAIM_SET
from berthmaster.names import is_name
from berthmaster.routing import pod_claim_set_key
from events.protocol.refused_names import refuse_name
from events.protocol.schemas import Json
from events.publisher.feeds import SnapshotFeed, known_keys
from events.publisher.watch import Batch, Listing


class ClaimFeed(SnapshotFeed):
    def listing(self, listing: Listing, relist: bool) -> None:
        """A set's own list comes with this one, and every set runs once after a list that differs."""
        super().listing(listing, relist)
        self.wake(known_keys(self.queue, POD_CLAIM_SET.prefix))

    def batch(self, batch: Batch) -> None:
        super().batch(batch)
        self.wake(sets_of(event["object"] for event in batch.events))

    def wake(self, sets: set[str]) -> None:
        if sets:
            self.sender.patiently(self.resource, lambda: self.queue.touch(sorted(sets)))


def sets_of(claims: Iterable[Json]) -> set[str]:
    """Keys of the sets that own these claims. Whoever may write a claim may write any owner in it."""
    keys = set[str]()
    for meta in (claim["metadata"] for claim in claims):
        owners = meta.get("ownerReferences") or ()
        for name in [owner.get("name") for owner in owners if owner.get("kind") == POD_CLAIM_SET.name]:
            if is_name(name):
                keys.add(pod_claim_set_key(meta["namespace"], name))
            else:
                refuse_name("owner reference", f"claim {meta['namespace']}/{meta['name']}", name)
    return keys
