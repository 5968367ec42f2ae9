"""What runs of pod pools use. `workers.wiring` builds it; tests build it with fakes behind the same interfaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from berthmaster.jobs.dispatch import Dispatcher
from berthmaster.jobs.slot_ledger import SlotLedger
from events.kube.api import KubeApi
from workers.kube.events import KubeEvents
from workers.kube.pod_pools import PodPools
from workers.pod_pools.pod_cache import PodCache
from workers.stores.claims.index import ClaimIndex
from workers.stores.claims.waiting import WaitingClaims
from workers.stores.pool_names import PodPoolNames, ShownStatus

Json = dict[str, Any]


@dataclass(frozen=True)
class PodPoolServices:
    """`ledger(pool)` and `dispatcher(ledger)` belong to one pool, namespace/name.

    `forget_queue(pool, pod)`: the pod is gone, and its name never comes again.
    `environment(pool, spec)`: the variables of its runners.
    `withheld`: why runners cannot reach Redis without a secret of the workers, '' when they can.
    `call_time`: how long a call may take. `silence`: after which a runner counts as dead.
    `remember`: for how long jobs are kept once they have ended.
    `many`: from so many pods on, the lists of a pool pause between them.
    `pod_cache`: the pods of pools as this process knows them.
    `pod_writes`: how many pods a run writes at a time.
    """

    kube: KubeApi
    pools: PodPools
    events: KubeEvents
    ledger: Callable[[str], SlotLedger]
    dispatcher: Callable[[SlotLedger], Dispatcher]
    forget_queue: Callable[[str, str], None]
    environment: Callable[[str, Json], list[Json]]
    names: PodPoolNames
    shown: ShownStatus
    claims: ClaimIndex
    waiting: WaitingClaims
    withheld: str
    call_time: timedelta
    silence: timedelta
    remember: timedelta
    many: int
    pod_cache: PodCache
    pod_writes: int
