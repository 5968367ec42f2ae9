"""A watch, and the feed that takes its changes."""

from __future__ import annotations

from collections.abc import Generator

import structlog
from redis import RedisError

from berthmaster.redis.refusals import warn
from events.publisher.feeds import Feed
from events.publisher.history import NewHistoryError
from events.publisher.metrics import Metrics
from events.publisher.sender import EpochLostError
from events.publisher.watch import Absent, Batch, Change, Listing, ResourceWatch

log = structlog.get_logger(__name__)


class Follower:
    """Passes changes to a feed. The term calls `first`; a thread of its own calls `rest` after that."""

    def __init__(self, watch: ResourceWatch, feed: Feed, metrics: Metrics) -> None:
        self.watch, self.feed, self.metrics = watch, feed, metrics
        self.changes: Generator[Change, None, None] = watch.follow()

    def first(self) -> None:
        """Take the first list; return without one if the server lacks the kind or the term is over.

        Raises NewHistoryError.
        """
        if change := next(self.changes, None):
            self.take(change, relist=True)

    def rest(self) -> str:
        """Take changes until the term is over or must end; return the reason. Raises NewHistoryError."""
        try:
            for change in self.changes:
                self.take(change, relist=False)
        except EpochLostError as lost:
            return str(lost)
        except RedisError as error:  # the term ended while Redis did not answer; the next term lists again
            warn(log, "batch_abandoned", error, resource=self.watch.resource.name)
        finally:
            self.close()
        return "ended"

    def close(self) -> None:
        """Close the connection now, not at the next garbage collection."""
        self.changes.close()

    def take(self, change: Change, relist: bool) -> None:
        """Count a change and pass it to the feed. Raises NewHistoryError if a list's version went back."""
        name = self.watch.resource.name
        match change:
            case Listing():
                self.metrics.relists.labels(name, change.reason).inc()
                if change.version < change.before:
                    raise NewHistoryError(f"a list of {name} is at version {change.version}, after {change.before}")
                self.feed.listing(change, relist)
            case Batch():
                self.metrics.received.labels(name).inc(len(change.events))
                self.metrics.dropped.labels(name, "old").inc(change.old)
                if change.events:
                    self.feed.batch(change)
            case Absent():
                pass
