"""Run terms, one after the other, for as long as we hold the Lease."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Final

import structlog
from redis import RedisError

from berthmaster.redis.identity import Identity
from berthmaster.redis.refusals import warn
from berthmaster.redis.unusable import UnusableRedis
from domain.backoff import RetryPolicy, backoff
from events.kube.api import KubeError
from events.kube.system import read_system
from events.publisher.election import Election
from events.publisher.term import Parts, Term
from events.publisher.watch import Pulse

log = structlog.get_logger(__name__)

PAUSES: Final = RetryPolicy(timedelta(milliseconds=200), timedelta(seconds=5))
"""Pauses between terms that failed in a row."""
WAIT: Final = 0.5
"""Seconds between two looks at the stop signal while another publisher is active."""


class Publisher:
    """Runs terms while this process has the Lease. `run` returns when the supervisor stops.

    `term` is the present one, None for a standby. `refusal`: why the process must not go on.
    """

    def __init__(self, parts: Parts, election: Election) -> None:
        self.parts, self.election = parts, election
        self.term: Term | None = None
        self.terms = self.failures = 0
        self.reason, self.evidence = "start", ""
        self.fleet = Identity(parts.cluster)
        self.refusal: UnusableRedis | None = None

    def run(self) -> None:
        """Run terms until the supervisor stops, or Redis turns out to be one that must not be used."""
        try:
            while not self.parts.supervisor.stop.is_set():
                if self.election.wait(WAIT):
                    self.serve()
        except UnusableRedis as refusal:
            log.critical("redis_unusable", error=str(refusal))
            self.refusal = refusal
            self.parts.supervisor.stop.set()

    @property
    def stamped(self) -> bool:
        """Whether the present term has stamped; False for a standby."""
        return bool((term := self.term) and term.stamped)

    def pulses(self) -> list[tuple[str, Pulse]]:
        """Return the pulses of the present term's streams, by name; none for a standby."""
        return list(term.pulses()) if (term := self.term) else []

    def serve(self) -> None:
        """Run one term, if the API confirms that the Lease is ours. Raises UnusableRedis."""
        if not self.confirmed():
            self.pause(self.failures + 1)
            return
        self.terms += 1
        self.parts.metrics.epochs.labels(self.reason).inc()
        self.term = term = Term(self.parts, self.terms, self.fleet, self.evidence)
        log.info("term_started", epoch=term.epoch, reason=self.reason)
        try:
            self.reason = term.run()
        finally:
            self.evidence = term.evidence
            self.term = None
        log.info("term_ended", epoch=term.epoch, reason=self.reason)
        self.pause(0 if term.opened else self.failures + 1)

    def confirmed(self) -> bool:
        """Return whether the API confirms the Lease: a paused holder may trust one that has long ended."""
        try:
            self.identify()
            if self.reason == "outbid":
                return self.parts.lease.outbid(self.parts.queue.highest_epoch())
            return self.parts.lease.renew()
        except UnusableRedis:
            raise
        except (KubeError, RedisError) as error:
            warn(log, "epoch_postponed", error)
            return False

    def identify(self) -> None:
        """Read the cluster's UID, '' for an account that may not read it. Raises KubeError."""
        if not self.fleet.system:
            self.fleet = Identity(self.fleet.cluster, read_system(self.parts.kube))

    def pause(self, failures: int) -> None:
        """Wait after a term: hardly after a complete one, because workers wait for the next stamp."""
        self.failures = failures
        self.parts.supervisor.stop.wait(backoff(PAUSES, failures, random.random()).total_seconds())
