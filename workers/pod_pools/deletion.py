"""Deletion of a pool: its pods take no more jobs, and the jobs of pods that are gone wait for a new pool."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Final

from berthmaster.jobs.runner_ledger import NotVerified
from berthmaster.jobs.slot_ledger import SlotLedger
from domain.outcome import Outcome, Settled, Wait
from workers.kube.pool_pods import PoolPods
from workers.pod_pools.actions import find_unlisted_pod
from workers.pod_pools.claim_index_repair import repair_claim_index
from workers.pod_pools.runner_tokens import forget_user
from workers.pod_pools.services import PodPoolServices
from workers.run import Run
from workers.stores.slots.claimable import forget_claimable
from workers.stores.slots.view import pool_sizing, view

RETRY_AFTER: Final = timedelta(seconds=30)
JOBS_END: Final = timedelta(hours=1)


def delete_pool(services: PodPoolServices, run: Run, namespace: str, name: str) -> Outcome:
    """Close every pod and forget the pool once its last pod and job are gone.

    A job that nobody cancels waits for a new pool of this name.
    """
    ledger = services.ledger(f"{namespace}/{name}")
    services.names.remove(ledger.pool)
    forget_user(services, run, ledger)  # first: then the runners write nothing any more
    ledger.forget_size(run.token)
    mark = ledger.verification()
    forget_claimable(ledger)
    services.shown.forget(ledger.prefix)
    run.keep(services.call_time)  # a new pool of this name would have pods in the ledger
    pods, entries = PoolPods(services.kube, namespace, name, owner={}), view(ledger).pods
    with suppress(NotVerified):  # nothing is placed then
        for entry in entries:
            ledger.quarantine(entry.uid, for_good=True)
        running = [entry for entry in entries if find_unlisted_pod(services, run, pods, ledger, entry)]
        if running:
            return Wait(RETRY_AFTER, f"{len(running)} pods of the pool are still there")
        if not verify_ledger(services, run, pods, ledger, mark):
            return Wait(RETRY_AFTER, "pods of the pool may still be there: Redis was new, and not all have reported")
        ledger.sweep(services.remember)
    repair_claim_index(services, run, namespace)
    return Settled() if ledger.forget(run.token) else Wait(JOBS_END, "jobs wait for the pool, or are remembered")


def verify_ledger(services: PodPoolServices, run: Run, pods: PoolPods, ledger: SlotLedger, mark: str) -> bool:
    """Verify the ledger in the place of the pool's run. False: pods are still labelled.

    After a loss of Redis an unverified ledger could cancel no job and forget nothing.
    """
    if pool_sizing(ledger).size is None:
        run.keep(services.call_time)
        if pods.labelled():
            return False
        ledger.begin((), mark)
    return True
