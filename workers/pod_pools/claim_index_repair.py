"""Repairs the index of a namespace's claims: compares it with the claims that Kubernetes has.

A run that has lost its lease may write the entry of a claim that was removed by force, and die. Nothing cleans that
entry up: the claim's pod would stay bound, or a pool would grow for it for ever. A new claim of the same name would not
be woken.
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


def repair_claim_index_periodically(services: PodPoolServices, run: Run, namespace: str) -> None:
    """Repair the index once per period, whichever pool's run comes first."""
    if services.claims.due(namespace, PERIOD):
        repair_claim_index(services, run, namespace)


def repair_claim_index(services: PodPoolServices, run: Run, namespace: str) -> None:
    """Forget claims that are gone. Wake claims that the index lacks: a deleted claim's entry may have replaced theirs.

    Read the index first, then list the claims: a UID that is not in that list never comes back.
    """
    indexed = services.claims.all(namespace)
    entries = {(claim.name, claim.uid) for claim in services.waiting.all(namespace)} | indexed
    run.keep(services.call_time)
    existing = {claim.uid: claim.name for claim in PodClaims(services.kube).all(namespace)}
    for name, uid in sorted(entries):
        if uid not in existing:
            log.warning("claim_forgotten", namespace=namespace, claim=name, uid=uid)
            services.claims.forget(namespace, name, uid)
    wake_claims(run, namespace, {existing[uid] for uid in existing.keys() - {uid for _, uid in indexed}})


def wake_claims(run: Run, namespace: str, names: Collection[str]) -> None:
    """Make claims reconcile. Their runs write the index again."""
    run.touch({pod_claim_key(namespace, name) for name in names})
