"""One term of the active publisher: assume an epoch, list and mark, stamp, watch, until any of it is in doubt.

Another epoch, lost state, another Redis or a lost Lease ends the term, and the next term begins from the start. A term
repairs nothing in the middle, so there is one order to think about. Each term assumes an epoch of its own, so that a
thread of an earlier term cannot write any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from threading import Event, Thread
from typing import Final

import structlog
from redis import Redis, RedisError

from berthmaster.kinds import POD, POD_CLAIM
from berthmaster.redis.identity import Identity
from berthmaster.redis.promotion import may_be_promoted
from berthmaster.redis.refusals import prove, warn
from berthmaster.redis.settings import StateSettings
from berthmaster.redis.unusable import UnusableRedis
from events.kube.api import KubeApi
from events.protocol.event_stream import EventStream
from events.publisher.claim_feed import ClaimFeed
from events.publisher.failures import FailureFeed
from events.publisher.feeds import SnapshotFeed
from events.publisher.follower import Follower
from events.publisher.history import NEW_HISTORY, NewHistoryError, announce
from events.publisher.lease import Lease
from events.publisher.metrics import Metrics
from events.publisher.pool_pods import PoolPodFeed
from events.publisher.resources import Resource, allocation_failures, pool_pods, snapshot_resources
from events.publisher.sender import EpochLostError, MarkSender
from events.publisher.supervise import Supervisor
from events.publisher.watch import Pulse, ResourceWatch
from events.settings import PublisherSettings
from events.workqueue import Workqueue

log = structlog.get_logger(__name__)

POLL_PAUSE: Final = 0.1
"""Seconds between two looks at the Lease and the stop signal."""


@dataclass(frozen=True)
class Parts:
    """The parts of a publisher. Its terms share them."""

    kube: KubeApi
    redis: Redis
    queue: Workqueue
    lease: Lease
    settings: PublisherSettings
    metrics: Metrics
    supervisor: Supervisor
    stream: EventStream
    cluster: str
    state: StateSettings


class Term:
    """One term. Call `run` once, with the Lease held. `over` is set by the thread that finds the `reason`.

    `evidence` that the API's versions went back: from the previous term, until this one has begun the new history.
    """

    def __init__(self, parts: Parts, serial: int, fleet: Identity | None = None, evidence: str = "") -> None:
        self.parts, self.fleet = parts, fleet
        self.epoch = f"{parts.lease.number}:{parts.lease.identity}/{serial}"
        self.over, self.reason, self.evidence = Event(), "", evidence
        self.opened = self.stamped = False  # opened: ever stamped; stamped: now
        self.threads: list[Thread] = []
        self.sender = MarkSender(
            parts.queue, parts.lease, self.epoch, self.over, parts.settings, parts.metrics, parts.stream
        )
        scope = parts.settings.namespace
        resources = snapshot_resources(scope, parts.settings.pod_selector)
        feeds = {resource.kind: self.feed(resource) for resource in resources}
        self.listed = [self.follower(feed.resource, feed) for feed in feeds.values()]
        self.failures = self.follower(
            events := allocation_failures(scope),
            FailureFeed(events, parts.redis, parts.queue, self.sender, feeds[POD.prefix]),
        )
        members = pool_pods(scope)
        self.members = self.follower(members, PoolPodFeed(members, parts.redis, parts.queue, self.sender))

    def feed(self, resource: Resource) -> SnapshotFeed:
        """Return the feed of a stored kind."""
        feed_of = ClaimFeed if resource.kind == POD_CLAIM.prefix else SnapshotFeed
        return feed_of(resource, self.parts.queue, self.sender, self.parts.metrics)

    def follower(self, resource: Resource, feed: SnapshotFeed | FailureFeed | PoolPodFeed) -> Follower:
        """Return a follower of a kind in this term."""
        watch = ResourceWatch(self.parts.kube, resource, self.parts.settings.watch, self.over, feed.prepare)
        return Follower(watch, feed, self.parts.metrics)

    @property
    def followers(self) -> list[Follower]:
        """All followers; that of failures only if the settings ask for it."""
        return [*self.listed, self.members, *([self.failures] if self.parts.settings.failures else [])]

    def pulses(self) -> Iterator[tuple[str, Pulse]]:
        """Yield the pulse of each stream by its name."""
        return ((follower.watch.resource.name, follower.watch.pulse) for follower in self.followers)

    def run(self) -> str:
        """Run until the end; return its reason after every thread of the term has ended. Raises UnusableRedis."""
        self.start("lookout", self.look_out)
        try:
            self.open()
            self.over.wait()
        except EpochLostError as lost:
            self.end(str(lost))
        except UnusableRedis:
            self.end("redis_unusable")
            raise
        except NewHistoryError as error:
            self.went_back(error)
        except RedisError as error:
            warn(log, "redis_unreachable", error)
            self.end("redis_unreachable")
        finally:
            self.close()
        return self.reason

    def open(self) -> None:
        """Assume the epoch, enter the history, list, stamp: in this order.

        Raises EpochLostError, NewHistoryError, UnusableRedis and RedisError.
        """
        if not self.parts.queue.assume_epoch(self.epoch, self.fleet):
            raise EpochLostError("outbid")
        self.enter_history()
        met = time.monotonic()
        for follower in self.listed:
            follower.first()
        if not self.parts.queue.was_stamped():
            self.outwait(met)
        if self.over.is_set():
            return
        if not self.parts.queue.stamp(self.epoch):
            raise EpochLostError("stamp_refused")
        self.stamped = self.opened = True
        self.parts.metrics.stamped.set(1)
        log.info("lists_stamped", epoch=self.epoch)
        for follower in self.followers:
            self.start(follower.watch.resource.name, partial(self.follow, follower))

    def enter_history(self) -> None:
        """Enter the history, a new one if there is evidence. Raises EpochLostError if another epoch was assumed."""
        if not self.parts.queue.enter_history(self.epoch, anew=bool(self.evidence)):
            raise EpochLostError("outbid")
        if self.evidence:
            self.parts.metrics.histories.inc()
            announce(self.parts.kube, self.parts.lease, self.parts.queue.history, self.evidence)
            self.evidence = ""

    def went_back(self, error: NewHistoryError) -> None:
        """End the term for a new history; keep the evidence for the next term."""
        self.evidence = str(error)
        self.end(NEW_HISTORY)

    def outwait(self, met: float) -> None:
        """Wait until the previous master has stopped granting: it does so only when it finds its replicas gone.

        Its grants are published by then, and the rebuilds that begin with the stamp find them. Without Sentinel only
        a server of a group has had such a master.
        """
        longest = self.parts.state.rest(promoted=True)
        wait = self.parts.state.rest(promoted=may_be_promoted(self.parts.redis, longest))
        rest = wait.total_seconds() - (time.monotonic() - met)
        if rest > 0:
            log.info("outwaiting_old_master", epoch=self.epoch, seconds=round(rest, 1))
            self.over.wait(rest)

    def follow(self, follower: Follower) -> None:
        """Follow one kind until the end of the term."""
        try:
            self.end(follower.rest())
        except NewHistoryError as error:
            self.went_back(error)

    def start(self, name: str, target: Callable[[], None]) -> None:
        """Start a supervised thread of this term."""
        self.threads.append(self.parts.supervisor.start(name, target))

    def look_out(self) -> None:
        """End the term for reasons that no other thread of it notices."""
        probed = time.monotonic()
        while not self.over.wait(POLL_PAUSE):
            if self.parts.supervisor.stop.is_set():
                self.end("stopped")
            elif not self.parts.lease.held:
                self.end("lease_lost")
            elif self.stamped and time.monotonic() - probed >= self.parts.settings.probe_every.total_seconds():
                probed = time.monotonic()
                self.probe()

    def probe(self) -> None:
        """Check Redis: a quiet stream would hide for hours that Redis lost its state or refuses writes."""
        try:
            if not self.parts.queue.stands(self.epoch):
                return self.end("state_lost")
            prove(self.parts.redis)
            self.parts.stream.trim(self.parts.redis)
        except UnusableRedis:  # the next term raises it
            self.end("redis_unusable")
        except RedisError as error:
            warn(log, "probe_failed", error)

    def end(self, reason: str) -> None:
        """End the term. The first reason counts."""
        self.reason = self.reason or reason
        self.stamped = False
        self.parts.metrics.stamped.set(0)
        self.over.set()

    def close(self) -> None:
        """Wait for batches in hand. The next epoch fences a thread that does not end in time."""
        self.end("failed")
        deadline = time.monotonic() + self.parts.settings.grace.total_seconds()
        for thread in self.threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        if not self.opened:  # else each was closed by its own thread
            for follower in self.followers:
                follower.close()
