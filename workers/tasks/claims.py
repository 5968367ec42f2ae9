"""Tasks that reconcile claims and claim sets."""

from __future__ import annotations

from celery import shared_task

from berthmaster.kinds import POD_CLAIM, POD_CLAIM_SET
from workers.claim_sets.reconciler import PodClaimSetReconciler
from workers.claims.reconciler import PodClaimReconciler
from workers.tasks.claim_payloads import ReconcilePodClaim, ReconcilePodClaimSet
from workers.tasks.keys import discard_key, reconcile_key
from workers.tasks.payloads import takes
from workers.wiring.process import services


@shared_task(name=POD_CLAIM.task)
@takes(ReconcilePodClaim, discard_key)
def reconcile_pod_claim(asked: ReconcilePodClaim) -> None:
    """Bind the claim's pod, keep it, move the claim or give the pod back."""
    parts = services()
    reconcile_key(parts, asked, PodClaimReconciler(parts.claims))


@shared_task(name=POD_CLAIM_SET.task)
@takes(ReconcilePodClaimSet, discard_key)
def reconcile_pod_claim_set(asked: ReconcilePodClaimSet) -> None:
    """Create and delete claims until the set has as many as it asks for, of its present template."""
    parts = services()
    reconcile_key(parts, asked, PodClaimSetReconciler(parts.claimsets))
