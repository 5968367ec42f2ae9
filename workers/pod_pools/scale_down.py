"""Scale-down of one pod: read it, fence it in Redis, delete exactly what was read.

A pod that anybody has changed in between stays.
"""

from __future__ import annotations

import structlog

from berthmaster.jobs.slot_ledger import SlotLedger
from domain.pod_pools.pod_steps import Member
from workers.kube.claim_pods import held
from workers.kube.pool_pods import PoolPods
from workers.pod_pools.services import PodPoolServices
from workers.run import Run

log = structlog.get_logger()
TRIES = 3


def close_and_delete(
    services: PodPoolServices, run: Run, ledger: SlotLedger, pods: PoolPods, member: Member, floor: int
) -> bool:
    """Remove an idle pod while the pool keeps `floor` pods. False: it is used, claimed or needed after all.

    A later run lifts a fence that stays.
    """
    for _ in range(TRIES):
        run.keep(services.call_time)
        pod = pods.read(member.name, member.uid)
        if pod is None or pod.deleting:
            return True
        if held(pod):
            return False
        if refusal := ledger.fence(member.uid, run.token, floor):
            log.info("fence_refused", pool=ledger.pool, pod=member.name, reason=refusal.lower())
            return False
        log.info("pod_fenced", pool=ledger.pool, pod=member.name)
        run.keep(services.call_time)
        if pods.delete(pod):
            log.info("pod_deleted", pool=ledger.pool, pod=member.name)
            return True
    return False


def retire_and_delete(services: PodPoolServices, run: Run, ledger: SlotLedger, pods: PoolPods, member: Member) -> bool:
    """Remove a pod that is not open and that nothing runs on. False: it is used, claimed or open after all.

    It is never opened again: a later run deletes it where this one could not.
    """
    run.keep(services.call_time)
    pod = pods.read(member.name, member.uid)
    if pod is None or pod.deleting:
        return True
    if held(pod) or pod.ready or not ledger.retire(member.uid):
        return False
    log.info("pod_retired", pool=ledger.pool, pod=member.name)
    run.keep(services.call_time)
    return pods.delete(pod)
