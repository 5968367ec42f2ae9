"""What runs of claims use; bootstrap makes it, tests make it with fakes behind the same interfaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from berthmaster.jobs.dispatch import Dispatcher
from berthmaster.jobs.slot_ledger import SlotLedger
from events.kube.api import KubeApi
from events.workqueue import Workqueue
from workers.kube.events import KubeEvents
from workers.kube.pod_claims import PodClaims
from workers.stores.claims.index import ClaimIndex
from workers.stores.claims.waiting import WaitingClaims
from workers.stores.pool_names import PodPoolNames


@dataclass(frozen=True)
class ClaimServices:
    """`ledger` and `dispatcher` are of a pool (namespace/name); `pools` are the names of all of them.

    `now` is the API server's clock, whose stamps pods and claims carry.

    Waits for a pod begin with `retry` and grow to `retry_longest`.
    """

    kube: KubeApi
    queue: Workqueue
    claims: PodClaims
    events: KubeEvents
    index: ClaimIndex
    waiting: WaitingClaims
    pools: PodPoolNames
    ledger: Callable[[str], SlotLedger]
    dispatcher: Callable[[SlotLedger], Dispatcher]
    now: Callable[[], datetime]
    missing_grace: timedelta = timedelta(seconds=10)
    retry: timedelta = timedelta(seconds=5)
    retry_longest: timedelta = timedelta(minutes=1)
    call_time: timedelta = timedelta(seconds=15)
