"""Deletion of a pool: its pods take no more jobs, and the jobs of pods that are gone wait for a new pool."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Final

from berthmaster.jobs.runner_ledger import NotVerified
from berthmaster.jobs.slot_ledger import SlotLedger
from domain.outcome import Outcome, Settled, Wait
from domain.pod_pools.pod_steps import LedgerState
from domain.quantity import quantity
from workers.kube.pool_pods import PoolPods
from workers.pod_pools.actions import find_unlisted_pod
from workers.pod_pools.claim_index_repair import repair_claim_index
from workers.pod_pools.runner_tokens import forget_user
from workers.pod_pools.services import PodPoolServices
from workers.pod_pools.side_by_side import side_by_side
from workers.run import Run
from workers.stores.slots.claimable import forget_claimable
from workers.stores.slots.pod_records import PodSlots
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
    pods, slots = PoolPods(services.kube, namespace, name, owner={}), view(ledger)
    entries = (*slots.pods, *slots.unrecorded)
    with suppress(NotVerified):  # nothing is placed then
        close_pods(services, ledger, entries)
        running = count_present(services, run, pods, ledger, entries)
        if running:
            return Wait(RETRY_AFTER, f"{quantity(running, 'pod of the pool is', 'pods of the pool are')} still there")
        if not verify_ledger(services, run, pods, ledger, mark):
            return Wait(RETRY_AFTER, "pods of the pool may still be there: Redis was new, and not all have reported")
        ledger.sweep(services.remember, pause=2 * JOBS_END)  # runs are an hour apart, and limits go on meanwhile
    repair_claim_index(services, run, namespace)
    return Settled() if ledger.forget(run.token) else Wait(JOBS_END, "jobs wait for the pool, or are remembered")


def close_pods(services: PodPoolServices, ledger: SlotLedger, entries: Collection[PodSlots]) -> None:
    """Close pods for good, several side by side."""
    unclosed = [entry for entry in entries if entry.view != LedgerState.ENDING]
    side_by_side(services.pod_writes, (partial(ledger.quarantine, entry.uid, for_good=True) for entry in unclosed))


def count_present(
    services: PodPoolServices, run: Run, pods: PoolPods, ledger: SlotLedger, entries: Collection[PodSlots]
) -> int:
    """Count the pods of the ledger that are still there: by one list, and by name those that it lacks, side by side."""
    listed = {pod.uid for pod in pods.labelled()} if entries else set[str]()
    unlisted = [entry for entry in entries if entry.uid not in listed]
    calls = (partial(find_unlisted_pod, services, run, pods, ledger, entry) for entry in unlisted)
    return len(entries) - len(unlisted) + sum(map(bool, side_by_side(services.pod_writes, calls)))


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
