"""Keeps the Lease while we have it and reaches for it while we do not, in a thread of its own.

Apart from the publishing, because a list of a whole cluster takes longer than a Lease lasts.
"""

from __future__ import annotations

from threading import Event

import structlog

from events.kube.api import KubeError
from events.publisher.lease import Lease
from events.publisher.metrics import Metrics

log = structlog.get_logger(__name__)


class Election:
    """`run` until `stop`. Others ask `lease.held`, and wait for a change of it on `turned`."""

    def __init__(self, lease: Lease, metrics: Metrics, stop: Event) -> None:
        self.lease, self.metrics, self.stop = lease, metrics, stop
        self.turned = Event()
        self.reached = False  # whether the API let us see the Lease when we looked last
        self.was_held = False

    def run(self) -> None:
        while not self.stop.is_set():
            self.step()
            self.stop.wait(self.lease.settings.retry_every.total_seconds())

    def step(self) -> None:
        try:
            self.lease.renew() if self.lease.held else self.lease.try_acquire()
            self.reached = True
        except KubeError as error:
            self.reached = False
            log.warning("lease_unreachable", error=str(error), held=self.lease.held)
        self.tell()

    def tell(self) -> None:
        held = self.lease.held
        self.metrics.lease_held.set(held)
        if held != self.was_held:
            self.was_held = held
            log.info("lease_acquired" if held else "lease_lost", number=self.lease.number, holder=self.lease.identity)
            self.turned.set()

    def wait(self, seconds: float) -> bool:
        """Whether we hold the Lease; waits for it up to `seconds`."""
        if not self.lease.held:
            self.turned.wait(seconds)
            self.turned.clear()
        return self.lease.held

    def resign(self) -> None:
        """Gives the Lease to whoever waits for it. If the API does not answer, they wait it out."""
        try:
            self.lease.release()
        except KubeError as error:
            log.warning("lease_not_released", error=str(error))
