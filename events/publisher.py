"""Terms, one after the other, for as long as the Lease is ours."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Final

import structlog
from redis import RedisError

from domain.backoff import RetryPolicy, backoff
from events.election import Election
from events.kube_api import KubeError
from events.refusals import warn
from events.term import Parts, Term
from events.watch import Pulse

log = structlog.get_logger(__name__)

PAUSES: Final = RetryPolicy(timedelta(milliseconds=200), timedelta(seconds=5))
"""Between terms that failed in a row."""
WAIT: Final = 0.5
"""Seconds between two looks at the stop signal while another is active."""


class Publisher:
    """`run` until the supervisor's stop. `term` is the present one, None for a standby."""

    def __init__(self, parts: Parts, election: Election) -> None:
        self.parts, self.election = parts, election
        self.term: Term | None = None
        self.terms = self.failures = 0
        self.reason = "start"

    def run(self) -> None:
        while not self.parts.supervisor.stop.is_set():
            if self.election.wait(WAIT):
                self.serve()

    @property
    def stamped(self) -> bool:
        return bool((term := self.term) and term.stamped)

    def pulses(self) -> list[tuple[str, Pulse]]:
        """Of the streams of the present term, by name; none for a standby."""
        return list(term.pulses()) if (term := self.term) else []

    def serve(self) -> None:
        """One term, if the API confirms that the Lease is ours."""
        if not self.confirmed():
            self.pause(self.failures + 1)
            return
        self.terms += 1
        self.parts.metrics.claims.labels(self.reason).inc()
        self.term = term = Term(self.parts, self.terms)
        log.info("term_started", epoch=term.epoch, reason=self.reason)
        self.reason = term.run()
        self.term = None
        log.info("term_ended", epoch=term.epoch, reason=self.reason)
        self.pause(0 if term.opened else self.failures + 1)

    def confirmed(self) -> bool:
        """A holder that was paused may believe in a Lease that is long gone: asked before each claim."""
        try:
            if self.reason == "outbid":
                return self.parts.lease.outbid(self.parts.queue.highest_claim())
            return self.parts.lease.renew()
        except (KubeError, RedisError) as error:
            warn(log, "claim_postponed", error)
            return False

    def pause(self, failures: int) -> None:
        """Hardly any after a term that was complete: its successor is urgent, workers wait for its stamp."""
        self.failures = failures
        self.parts.supervisor.stop.wait(backoff(PAUSES, failures, random.random()).total_seconds())
