"""Store claims as any other kind, and wake the claim set that a changed claim belongs to."""

from __future__ import annotations

from collections.abc import Iterable

from berthmaster.kinds import POD_CLAIM_SET
from berthmaster.names import is_name
from berthmaster.routing import pod_claim_set_key
from domain.kubernetes.objects import KubeObject
from events.protocol.refused_names import refuse_name
from events.publisher.feeds import SnapshotFeed, known_keys
from events.publisher.watch import Batch, Listing


class ClaimFeed(SnapshotFeed):
    """Stores claims, and wakes the claim sets that own them."""

    def listing(self, listing: Listing, relist: bool) -> None:
        """Mark the listed claims, and wake every claim set."""
        super().listing(listing, relist)
        self.wake(known_keys(self.queue, POD_CLAIM_SET.prefix), slow=True)

    def batch(self, batch: Batch) -> None:
        """Mark the changed claims, and wake their claim sets."""
        super().batch(batch)
        self.wake(sets_of(KubeObject(event["object"]) for event in batch.events))

    def wake(self, sets: set[str], *, slow: bool = False) -> None:
        """Mark the claim sets of these keys dirty; retry until the term is over. `slow`: nobody waits for them."""
        if sets:
            self.sender.patiently(self.resource, lambda: self.queue.touch(sorted(sets), slow=slow))


def sets_of(claims: Iterable[KubeObject]) -> set[str]:
    """Return the keys of the owning claim sets. A writer of a claim may write any owner, so names are checked."""
    keys = set[str]()
    for claim in claims:
        for name in claim.owners_of(POD_CLAIM_SET.name):
            if is_name(name):
                keys.add(pod_claim_set_key(claim.namespace, name))
            else:
                refuse_name("owner reference", f"claim {claim.namespace}/{claim.name}", name)
    return keys
