"""Tasks that reconcile claims and claim sets, and requests of other services for claims."""

from __future__ import annotations

from celery import shared_task

from berthmaster import routing
from berthmaster.claims.request import CreateClaim, ReleaseClaim, RenewClaim
from berthmaster.kinds import POD_CLAIM, POD_CLAIM_SET
from workers.claim_sets.reconciler import PodClaimSetReconciler
from workers.claims.reconciler import PodClaimReconciler
from workers.claims.requests import ClaimRequests
from workers.tasks.claim_payloads import ReconcilePodClaim, ReconcilePodClaimSet
from workers.tasks.keys import KeyRuns, ReconcilingTask, discard_key
from workers.tasks.payloads import takes
from workers.tasks.pod_pools import PATIENT
from workers.wiring.process import services

CLAIMS = KeyRuns(ReconcilePodClaim, lambda parts: PodClaimReconciler(parts.claims))
CLAIM_SETS = KeyRuns(ReconcilePodClaimSet, lambda parts: PodClaimSetReconciler(parts.claimsets))


@shared_task(name=POD_CLAIM.task, base=ReconcilingTask, keys=CLAIMS)
@takes(ReconcilePodClaim, discard_key)
def reconcile_pod_claim(asked: ReconcilePodClaim) -> None:
    """Bind the claim's pod, keep it, move the claim or give the pod back."""
    CLAIMS.run(asked)


@shared_task(name=POD_CLAIM_SET.task, base=ReconcilingTask, keys=CLAIM_SETS)
@takes(ReconcilePodClaimSet, discard_key)
def reconcile_pod_claim_set(asked: ReconcilePodClaimSet) -> None:
    """Create and delete claims until the set has as many as it asks for, of its present template."""
    CLAIM_SETS.run(asked)


@shared_task(name=routing.CLAIMS_CREATE, **PATIENT)
@takes(CreateClaim)
def create(request: CreateClaim) -> None:
    """Create a claim, once per name, and answer about it."""
    claim_requests().create(request.claim)


@shared_task(name=routing.CLAIMS_RENEW, **PATIENT)
@takes(RenewClaim)
def renew(request: RenewClaim) -> None:
    """Renew a claim that a task has created."""
    namespace, name = request.claim.split("/")
    claim_requests().renew(namespace, name, request.renewal)


@shared_task(name=routing.CLAIMS_RELEASE, **PATIENT)
@takes(ReleaseClaim)
def release(request: ReleaseClaim) -> None:
    """Delete a claim that a task has created, or that one creates later: its pod drains."""
    namespace, name = request.claim.split("/")
    claim_requests().release(namespace, name, request.call)


def claim_requests() -> ClaimRequests:
    """Return what carries out the requests, with the services of this process."""
    parts = services().claims
    return ClaimRequests(parts.claims, parts.answers)
