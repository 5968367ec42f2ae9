"""One run of one claim set: what its actions and its status share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import structlog

from domain.kubernetes.objects import KubeObject
from workers.claim_sets.services import ClaimSetServices
from workers.kube.our_kinds import as_snapshot
from workers.run import Run

log = structlog.get_logger()


@dataclass(frozen=True)
class ClaimSetContext:
    """One run of one claim set."""

    services: ClaimSetServices
    run: Run
    namespace: str
    name: str

    def extend_lease(self) -> None:
        """Keep the run's lease for the time of one call. Call this before every call that follows another."""
        self.run.keep(self.services.call_time)

    def set_status(self, claim_set: KubeObject, status: dict[str, Any]) -> KubeObject:
        """Write the status in the version that was read. Raises Conflict or NotFound."""
        self.extend_lease()
        written = self.services.sets.set_status(claim_set, status)
        self.run.record_write(as_snapshot(written))
        return written

    def report(self, claim_set: KubeObject, reason: str, message: str, once: str) -> None:
        """Log a change of the set and publish it as an Event, once for the same `once`."""
        log.info("claim_set_changed", namespace=self.namespace, set=self.name, reason=reason, words=message)
        about = (self.namespace, self.name, claim_set.uid)
        self.services.events.pod_claim_set(*about, reason, message, once)
