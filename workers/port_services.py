"""The services of the runs of pods and port pools. workers/wiring builds them; tests put fakes behind the same
interfaces.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta

from berthmaster.routing import pod_key
from events.workqueue import Workqueue
from workers.cloud.driver import LoadBalancerApi
from workers.cloud.priority import Priority
from workers.kube.events import KubeEvents
from workers.kube.namespaces import Namespaces
from workers.kube.pods import PodClient
from workers.kube.port_pools import PortPools
from workers.run import Run
from workers.stores.journal import EventJournal
from workers.stores.pool_names import PoolNames, ShownStatus
from workers.stores.ports.audit_memory import AuditMemory
from workers.stores.ports.last_errors import Troubles
from workers.stores.ports.ledger import Ledger


@dataclass(frozen=True)
class PortServices:
    """The services. `driver` returns the load-balancer API of a region.

    `send_scale_up(pool, epoch, token)` sends the task, and returns whether it could.
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
    cluster: str
    default_spec: str  # what an empty `ports` annotation asks for
    retain_for: timedelta  # what `ports-retain: "true"` means
    call_time: timedelta  # the longest that one AWS or Kubernetes call takes
    scale_up_lease: timedelta  # of the winner of a scale-up; a slow winner only costs a second, idempotent one
    orphan_grace: timedelta  # how long an orphan stays before an audit removes it
    audit_targets: int  # target groups whose targets one audit reads
    recheck: timedelta  # the wait of a pod without a port, unless it is woken
    wake_again_after: timedelta  # for a woken waiter without progress

    def driver_for(self, run: Run, region: str, priority: Priority) -> LoadBalancerApi:
        """Return a region's API on behalf of a run: no call goes out without the run's lease."""
        return self.driver(region).on_behalf_of(run.key, priority, run.keep)

    def wake_pods(self, names: Collection[str], pools: Collection[str] = ()) -> None:
        """Reconcile the pods `namespace/name`; `pools` are added to those where they may hold ports."""
        self.queue.touch([pod_key(*name.split("/")) for name in names], tuple(pools))
