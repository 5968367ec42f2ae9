"""Acquire and renew the Lease, in a thread of its own.

A list of a whole cluster takes longer than a Lease lasts, so the publishing thread cannot renew it.
"""

from __future__ import annotations

from threading import Event

import structlog

from events.kube.api import KubeError
from events.publisher.lease import Lease
from events.publisher.metrics import Metrics

log = structlog.get_logger(__name__)


class Election:
    """`run` until `stop`. Other threads read `lease.held`, and wait on `turned` for a change of it."""

    def __init__(self, lease: Lease, metrics: Metrics, stop: Event) -> None:
        self.lease, self.metrics, self.stop = lease, metrics, stop
        self.turned = Event()
        self.reached = False  # whether the last request for the Lease succeeded
        self.was_held = False

    def run(self) -> None:
        """Acquire or renew periodically until `stop`."""
        while not self.stop.is_set():
            self.step()
            self.stop.wait(self.lease.settings.retry_every.total_seconds())

    def step(self) -> None:
        """Renew the Lease if it is held, else try to acquire it. An unreachable API is logged."""
        try:
            self.lease.renew() if self.lease.held else self.lease.try_acquire()
            self.reached = True
        except KubeError as error:
            self.reached = False
            log.warning("lease_unreachable", error=str(error), held=self.lease.held)
        self.tell()

    def tell(self) -> None:
        """Set the metric; log and signal a change of `held`."""
        held = self.lease.held
        self.metrics.lease_held.set(held)
        if held != self.was_held:
            self.was_held = held
            log.info("lease_acquired" if held else "lease_lost", number=self.lease.number, holder=self.lease.identity)
            self.turned.set()

    def wait(self, seconds: float) -> bool:
        """Return whether we hold the Lease; wait for it up to `seconds`."""
        if not self.lease.held:
            self.turned.wait(seconds)
            self.turned.clear()
        return self.lease.held

    def resign(self) -> None:
        """Release the Lease. If the API does not answer, the other candidates wait until it ends."""
        try:
            self.lease.release()
        except KubeError as error:
            log.warning("lease_not_released", error=str(error))
