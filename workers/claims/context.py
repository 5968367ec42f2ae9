"""One run of one claim: what its actions and its status share."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from domain.kubernetes.objects import KubeObject, Pod
from workers.claims.pod_additions import PodAdditions
from workers.claims.services import ClaimServices
from workers.kube.our_kinds import as_snapshot
from workers.run import Run

log = structlog.get_logger()


@dataclass
class ClaimContext:
    """One run of one claim. `claim` is the object as it was read, or as this run wrote it last.

    `bound` is the pod as the run's own write left it, None if the run bound none or has observed its pods since.
    """

    services: ClaimServices
    run: Run
    namespace: str
    name: str
    claim: KubeObject
    additions: PodAdditions
    bound: Pod | None = None

    def extend_lease(self) -> None:
        """Keep the run's lease for the time of one call. Call this before every write."""
        self.run.keep(self.services.call_time)

    def update(self, claim: KubeObject) -> None:
        """Continue with the claim as the API server returned it."""
        self.claim = claim
        self.run.record_write(as_snapshot(claim))

    def report(self, reason: str, message: str, once: str) -> None:
        """Log a change of the claim and publish it as an Event, once for the same `once`."""
        about = (self.namespace, self.name, self.claim.uid)
        log.info("claim_changed", namespace=self.namespace, claim=self.name, reason=reason, words=message)
        self.services.events.pod_claim(*about, reason, message, once)
