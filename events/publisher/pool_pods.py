"""Record each change of a pool's pod, then wake the pool and the pod's claims. Whole lists are not stored."""

from __future__ import annotations

from redis import Redis

from berthmaster.kinds import POD_CLAIM, POD_CLAIM_SET
from domain.kubernetes.objects import Pod
from events.protocol.claim_index import concerned, own_event_script
from events.protocol.pool_pod_changes import PodChange, PoolPodChanges
from events.publisher.feeds import known_keys
from events.publisher.resources import Resource
from events.publisher.sender import MarkSender
from events.publisher.watch import Batch, Listing
from events.workqueue import Workqueue


class PoolPodFeed:
    """Wakes pod pools and claims when their pods change."""

    def __init__(self, resource: Resource, redis: Redis, queue: Workqueue, sender: MarkSender) -> None:
        self.resource, self.redis, self.queue, self.sender = resource, redis, queue, sender
        self.changes, self.own_event = PoolPodChanges(redis), own_event_script(redis)

    def prepare(self) -> None:
        """Do nothing: no snapshots are stored."""

    def listing(self, listing: Listing, relist: bool) -> None:
        """Wake the pools of the listed pods, and all claims and claim sets: a list lacks missed deletions."""
        del relist  # a pool's run lists its pods itself
        pools = self.proper([item.mark.key for item in listing.items])

        def tell() -> None:
            self.changes.count_list()
            self.touch(pools | self.claims(), slow=True)

        self.sender.require_lease()
        self.sender.patiently(self.resource, tell)

    def batch(self, batch: Batch) -> None:
        """Record the changes of pods, and wake their pools and claims."""
        changes = [PodChange(Pod(event["object"]), event["type"] == "DELETED") for event in batch.events]
        pods = [change.pod for change in changes]
        pools = self.proper([self.resource.key(pod) for pod in pods])

        def tell() -> None:
            self.changes.record(changes)
            self.touch(pools | concerned(self.redis, pods, self.own_event))

        self.sender.require_lease()
        self.sender.patiently(self.resource, tell)

    def proper(self, keys: list[str]) -> set[str]:
        """Return the keys without '', the key of a pod whose label names no pool; count those pods."""
        self.sender.metrics.dropped.labels(self.resource.name, "no_name").inc(keys.count(""))
        return set(keys) - {""}

    def claims(self) -> set[str]:
        """Return the keys of all stored claims and claim sets."""
        return known_keys(self.queue, POD_CLAIM.prefix) | known_keys(self.queue, POD_CLAIM_SET.prefix)

    def touch(self, keys: set[str], *, slow: bool = False) -> None:
        """Mark the keys dirty; `slow`: nobody waits for them."""
        if keys:
            self.queue.touch(sorted(keys), slow=slow)
