"""Compares what Redis knows of the claims of a namespace with those that there are.

A run that has lost its lease may write of a claim that was removed by force meanwhile, and die: nobody comes for that
claim any more, its pod would stay bound, or a pool would grow for it for ever; and nobody would wake the claim that
was made by its name since.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Final

import structlog

from berthmaster.routing import pod_claim_key
from workers.kube.pod_claims import PodClaims
from workers.pod_pools.services import PodPoolServices
from workers.run import Run

log = structlog.get_logger()
PERIOD: Final = timedelta(minutes=10)


def mend_now_and_then(services: PodPoolServices, run: Run, namespace: str) -> None:
    if services.claims.due(namespace, PERIOD):
        mend_index(services, run, namespace)


def mend_index(services: PodPoolServices, run: Run, namespace: str) -> None:
    """Claims are listed after the index was read: a UID that is in no such list never comes back.

    One that is in the list and not in the index is woken: it may be unknown because the one before it was remembered.
    """
    indexed = services.claims.all(namespace)
    told = {(claim.name, claim.uid) for claim in services.waiting.all(namespace)} | indexed
    run.keep(services.call_time)
    there = {claim.uid: claim.name for claim in PodClaims(services.kube).all(namespace)}
    for name, uid in sorted(told):
        if uid not in there:
            log.warning("claim_forgotten", namespace=namespace, claim=name, uid=uid)
            services.claims.forget(namespace, name, uid)
    wake_claims(run, namespace, {there[uid] for uid in there.keys() - {uid for _, uid in indexed}})


def wake_claims(run: Run, namespace: str, names: Collection[str]) -> None:
    """Their runs write the index anew."""
    run.touch({pod_claim_key(namespace, name) for name in names})
