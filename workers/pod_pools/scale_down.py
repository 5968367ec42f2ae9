"""Scale-down of one pod: live read, fence in Redis, deletion exactly as it was read. Anything else leaves it alone."""

from __future__ import annotations

import structlog

from berthmaster.jobs.slot_ledger import SlotLedger
from domain.pod_pools.pod_steps import Member
from workers.kube.claimable_pods import held
from workers.kube.pool_pods import PoolPods
from workers.pod_pools.services import PodPoolServices
from workers.run import Run

log = structlog.get_logger()
TRIES = 3


def close_and_delete(
    services: PodPoolServices, run: Run, ledger: SlotLedger, pods: PoolPods, member: Member, floor: int
) -> bool:
    """False: it is used, claimed or needed after all. A fence that stays is lifted by a later run."""
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
