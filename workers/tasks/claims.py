"""Tasks of claims on warm pods, and of sets of claims."""

from __future__ import annotations

from celery import shared_task

from berthmaster.kinds import POD_CLAIM, POD_CLAIM_SET
from workers.claim_sets.reconciler import PodClaimSetsReconciler
from workers.claims.reconciler import PodClaimsReconciler
from workers.tasks.claim_payloads import ReconcilePodClaim, ReconcilePodClaimSet
from workers.tasks.keys import discard_key, reconcile_key
from workers.tasks.payloads import takes
from workers.wiring.process import services


@shared_task(name=POD_CLAIM.task)
@takes(ReconcilePodClaim, discard_key)
def reconcile_pod_claim(asked: ReconcilePodClaim) -> None:
    """Finds the claim a pod, keeps it, moves it, or gives it back."""
    parts = services()
    reconcile_key(parts, asked, PodClaimsReconciler(parts.claims))


@shared_task(name=POD_CLAIM_SET.task)
@takes(ReconcilePodClaimSet, discard_key)
def reconcile_pod_claim_set(asked: ReconcilePodClaimSet) -> None:
    """Makes and removes claims until there are as many as wanted, of the present template."""
    parts = services()
    reconcile_key(parts, asked, PodClaimSetsReconciler(parts.claimsets))
