"""What the runs of pods and pools use; bootstrap makes it, tests make it with fakes behind the same interfaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from events.workqueue import Workqueue
from workers.cloud.driver import LoadBalancerApi
from workers.kube.events import KubeEvents
from workers.kube.namespaces import Namespaces
from workers.kube.pods import PodClient
from workers.kube.port_pools import PortPools
from workers.stores.journal import EventJournal
from workers.stores.pool_names import PoolNames, ShownStatus
from workers.stores.ports.audit_memory import AuditMemory
from workers.stores.ports.last_errors import Troubles
from workers.stores.ports.ledger import Ledger


@dataclass(frozen=True)
class PortServices:
    """`driver` gives the load-balancer API of a region; `send_scale_up(pool, epoch, token)` sends the task, if
    it can.
    """

    queue: Workqueue
    ledger: Callable[[str], Ledger]
    driver: Callable[[str], LoadBalancerApi]
    pods: PodClient
    pools: PortPools
    namespaces: Namespaces
    events: KubeEvents
    journal: EventJournal
    pool_names: PoolNames
    shown: ShownStatus
    audit_memory: AuditMemory
    troubles: Troubles
    send_scale_up: Callable[[str, str, str], bool]
    cluster: str = "default"
    default_spec: str = ""
    retain_for: timedelta = timedelta(hours=24)  # what `ports-retain: "true"` means
    call_time: timedelta = timedelta(seconds=15)  # the longest that one AWS or Kubernetes call takes
    win_lease: timedelta = timedelta(
        seconds=60
    )  # of a scale-up request; a slow winner only costs a second, idempotent one
    orphan_grace: timedelta = timedelta(minutes=5)
    audit_targets: int = 50
    recheck: timedelta = timedelta(minutes=5)  # the wait of a pod without a port, unless it is woken
    forgotten: timedelta = timedelta(seconds=30)  # a woken waiter without progress is woken again
