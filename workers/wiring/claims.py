"""Build the services of the reconcilers of claims and claim sets."""

from __future__ import annotations

from redis import Redis

from berthmaster.claims.answers import ClaimAnswers
from events.workqueue import Workqueue
from workers.claim_sets.services import ClaimSetServices
from workers.claims.services import ClaimServices
from workers.kube.pod_claim_sets import PodClaimSets
from workers.kube.pod_claims import PodClaims
from workers.pod_pools.services import PodPoolServices
from workers.settings import WorkerSettings
from workers.stores.claims.index import ClaimIndex
from workers.stores.claims.set_names import ClaimSetNames
from workers.stores.claims.set_pace import ClaimSetPace
from workers.stores.claims.waiting import WaitingClaims
from workers.stores.journal import EventJournal


def claim_services(
    settings: WorkerSettings, redis: Redis, queue: Workqueue, pools: PodPoolServices, journal: EventJournal
) -> ClaimServices:
    """Build the services of the reconciler of claims. Nothing connects yet. The ledgers are those of the pools."""
    return ClaimServices(
        kube=pools.kube,
        queue=queue,
        claims=PodClaims(pools.kube),
        events=pools.events,
        journal=journal,
        index=ClaimIndex(redis),
        waiting=WaitingClaims(redis),
        answers=ClaimAnswers(redis),
        pools=pools.names,
        ledger=pools.ledger,
        dispatcher=pools.dispatcher,
        now=pools.kube.clock.now,
        missing_grace=settings.claims.missing_grace,
        retry=settings.claims.retry,
        retry_longest=settings.claims.retry_longest,
        call_time=settings.call_time,
    )


def claim_set_services(settings: WorkerSettings, redis: Redis, pools: PodPoolServices) -> ClaimSetServices:
    """Build the services of the reconciler of claim sets."""
    return ClaimSetServices(
        kube=pools.kube,
        sets=PodClaimSets(pools.kube),
        events=pools.events,
        names=ClaimSetNames(redis),
        pace=ClaimSetPace(redis),
        call_time=settings.call_time,
    )
