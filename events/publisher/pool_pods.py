"""Pods of pod pools are not stored: a change of one wakes its pool and the claim on it."""

from __future__ import annotations

from redis import Redis

from berthmaster.kinds import POD_CLAIM, POD_CLAIM_SET
from domain.kubernetes.objects import KubeObject
from events.protocol.claim_index import concerned
from events.publisher.feeds import known_keys
from events.publisher.resources import Resource
from events.publisher.sender import MarkSender
from events.publisher.watch import Batch, Listing
from events.workqueue import Workqueue


class PoolPodFeed:
    """Wakes pod pools and claims when their pods change."""

    def __init__(self, resource: Resource, redis: Redis, queue: Workqueue, sender: MarkSender) -> None:
        self.resource, self.redis, self.queue, self.sender = resource, redis, queue, sender

    def prepare(self) -> None:
        """Nothing is stored of them."""

    def listing(self, listing: Listing, relist: bool) -> None:
        """Deletions that the watch missed are not in a list, so every claim and set is reconciled."""
        del relist  # a pool's run lists its pods itself
        pools = self.proper([item.mark.key for item in listing.items])
        self.sender.require_lease()
        self.sender.patiently(self.resource, lambda: self.touch(pools | self.claims()))

    def batch(self, batch: Batch) -> None:
        pods = [KubeObject(event["object"]) for event in batch.events]
        pools = self.proper([self.resource.key(pod) for pod in pods])
        self.sender.require_lease()
        self.sender.patiently(self.resource, lambda: self.touch(pools | concerned(self.redis, pods)))

    def proper(self, keys: list[str]) -> set[str]:
        """Without pods whose label names no pool."""
        self.sender.metrics.dropped.labels(self.resource.name, "no_name").inc(keys.count(""))
        return set(keys) - {""}

    def claims(self) -> set[str]:
        return known_keys(self.queue, POD_CLAIM.prefix) | known_keys(self.queue, POD_CLAIM_SET.prefix)

    def touch(self, keys: set[str]) -> None:
        if keys:
            self.queue.touch(sorted(keys))
