"""Compares what Redis knows of the claims of a namespace with those that there are.

A run that has lost its lease may write of a claim that was removed by force meanwhile, and die: nobody comes for that
claim any more, its pod would stay bound, or a pool would grow for it for ever.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import structlog

from workers.kube.pod_claims import PodClaims
from workers.podpools.services import PodPoolServices
from workers.run import Run

log = structlog.get_logger()
PERIOD: Final = timedelta(minutes=10)


def mend_now_and_then(services: PodPoolServices, run: Run, namespace: str) -> None:
    if services.claims.due(namespace, PERIOD):
        mend_index(services, run, namespace)


def mend_index(services: PodPoolServices, run: Run, namespace: str) -> None:
    """Claims are listed after the index was read: a UID that is in no such list never comes back."""
    told = {(claim.name, claim.uid) for claim in services.waiting.all(namespace)} | services.claims.all(namespace)
    if not told:
        return
    run.keep(services.call_time)
    there = {claim["metadata"]["uid"] for claim in PodClaims(services.kube).all(namespace)}
    for name, uid in sorted(told):
        if uid not in there:
            log.warning("claim_forgotten", namespace=namespace, claim=name, uid=uid)
            services.claims.forget(namespace, name, uid)
