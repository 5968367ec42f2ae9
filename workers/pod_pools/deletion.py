"""A pool that is gone, or goes: its pods take no jobs any more, and what was on one that is gone waits, or is lost."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Final

from berthmaster.jobs.slot_ledger import NotVerified, SlotLedger
from domain.kubernetes.objects import Pod
from domain.outcome import Outcome, Settled, Wait
from workers.kube.pool_pods import PoolPods
from workers.pod_pools.claim_index_repair import mend_index
from workers.pod_pools.runner_tokens import forget_user
from workers.pod_pools.services import PodPoolServices
from workers.run import Run
from workers.stores.slots.claimable import forget_claimable
from workers.stores.slots.view import PodSlots, standing, view

LOOK_AGAIN: Final = timedelta(seconds=30)
JOBS_END: Final = timedelta(hours=1)


def leave(services: PodPoolServices, run: Run, namespace: str, name: str) -> Outcome:
    """A job that nobody cancels waits for a pool of this name to be made again; without any, nothing is left of it."""
    ledger = services.ledger(f"{namespace}/{name}")
    services.names.remove(ledger.pool)
    forget_user(services, run, ledger)  # first: whatever its runners have written, they write no more
    ledger.forget_size(run.token)
    mark = ledger.verification()
    forget_claimable(ledger)
    services.shown.forget(ledger.prefix)
    run.keep(services.call_time)  # a pool that was made anew meanwhile has pods by this name
    pods, known = PoolPods(services.kube, namespace, name, owner={}), view(ledger).pods
    with suppress(NotVerified):  # nothing is granted then
        for pod in known:
            ledger.set_aside(pod.uid, for_good=True)
        left = [pod for pod in known if sought(services, run, pods, ledger, pod)]
        if left:
            return Wait(LOOK_AGAIN, f"{len(left)} pods of the pool are still there")
        if not verified(services, run, pods, ledger, mark):
            return Wait(LOOK_AGAIN, "pods of the pool may still be there: Redis was new, and not all have reported")
        ledger.sweep(services.remember)
    mend_index(services, run, namespace)
    return Settled() if ledger.forget(run.token) else Wait(JOBS_END, "jobs wait for the pool, or are remembered")


def verified(services: PodPoolServices, run: Run, pods: PoolPods, ledger: SlotLedger, mark: str) -> bool:
    """No run of the pool says so any more after Redis was new: no job could be cancelled, and nothing be forgotten."""
    if standing(ledger).size is None:
        run.keep(services.call_time)
        if pods.labelled():
            return False
        ledger.begin((), mark)
    return True


def sought(services: PodPoolServices, run: Run, pods: PoolPods, ledger: SlotLedger, pod: PodSlots) -> Pod | None:
    """A pod that no list shows, if it is there; the jobs of one that is gone are placed again.

    Asked by its name: a pod that is new, of another owner, or without its label is in no list, and may run.
    """
    run.keep(services.call_time)
    if there := pods.read(pod.name, pod.uid):
        return there
    services.dispatcher(ledger).dispatch(ledger.gone(pod.uid))
    services.forget_queue(ledger.pool, pod.name)
    return None
