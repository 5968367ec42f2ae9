"""What the reconciler of claims needs. workers.wiring builds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from berthmaster.claims.answers import ClaimAnswers
from berthmaster.jobs.dispatch import Dispatcher
from berthmaster.jobs.slot_ledger import SlotLedger
from events.kube.api import KubeApi
from events.workqueue import Workqueue
from workers.kube.events import KubeEvents
from workers.kube.pod_claims import PodClaims
from workers.stores.claims.index import ClaimIndex
from workers.stores.claims.waiting import WaitingClaims
from workers.stores.journal import EventJournal
from workers.stores.pool_names import PodPoolNames


@dataclass(frozen=True)
class ClaimServices:
    """Services of the reconciler of claims.

    Attributes:
        pools: the names of all pod pools.
        ledger: returns the slot ledger of a pool (namespace/name).
        now: returns the time of the API server's clock, as in the timestamps of pods and claims.
        missing_grace: how long a pod may be missing before it is lost.
        retry: the first wait of a claim without a pod; each further wait is longer.
        retry_longest: the longest such wait.
        call_time: how long one call may take.

    """

    kube: KubeApi
    queue: Workqueue
    claims: PodClaims
    events: KubeEvents
    journal: EventJournal
    index: ClaimIndex
    waiting: WaitingClaims
    answers: ClaimAnswers
    pools: PodPoolNames
    ledger: Callable[[str], SlotLedger]
    dispatcher: Callable[[SlotLedger], Dispatcher]
    now: Callable[[], datetime]
    missing_grace: timedelta
    retry: timedelta
    retry_longest: timedelta
    call_time: timedelta
