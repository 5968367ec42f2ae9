"""What runs of pod pools use; bootstrap makes it, tests make it with fakes behind the same interfaces."""

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
from workers.stores.claims.index import ClaimIndex
from workers.stores.claims.waiting import WaitingClaims
from workers.stores.pool_names import PodPoolNames, ShownStatus

Json = dict[str, Any]


@dataclass(frozen=True)
class PodPoolServices:
    """`ledger` and `dispatcher` are of a pool (namespace/name); `environment(pool)` is what its runners are told.

    `forget_queue(pool, pod)`: that pod is gone, and its name never comes again.
    `withheld`: why runners cannot reach Redis without a secret of the workers, '' when they can.
    `remember`: for how long jobs that have ended are. `many`: pods from which on the runs of a pool pause between them.
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
    withheld: str = ""
    call_time: timedelta = timedelta(seconds=15)
    silence: timedelta = timedelta(minutes=2)
    remember: timedelta = timedelta(hours=24)
    many: int = 200
