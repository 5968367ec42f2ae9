"""One run of a PortPool: its services, its ledger, and the version of its object that the run wrote last."""

from __future__ import annotations

from datetime import timedelta

from domain.kubernetes.names import PORT_POOL_FINALIZER
from events.workqueue import Snapshot
from workers.cloud.driver import LoadBalancerApi
from workers.cloud.priority import Priority
from workers.port_services import PortServices
from workers.run import Run
from workers.scale_up.pool_config import PoolConfig
from workers.stores.ports.pool_ledger import PortPoolLedger

LISTING = timedelta(seconds=30)
"""How long lists of a whole pool may wait for call budget."""


class PortPoolRun:
    """Mutable on purpose: each write to the object replaces `pool`."""

    def __init__(self, services: PortServices, run: Run, name: str, pool: Snapshot) -> None:
        self.services, self.run, self.name, self.pool = services, run, name, pool
        self.ledger = services.ledger(name)
        self.pool_ledger = PortPoolLedger(self.ledger)

    @property
    def deleting(self) -> bool:
        """Whether somebody has deleted the object."""
        return bool(self.pool.body["deleting"])

    def driver(self, config: PoolConfig) -> LoadBalancerApi:
        """The load balancers of the pool's region, with the patience that lists need."""
        driver = self.services.driver(config.spec.region)
        return driver.on_behalf_of(self.run.key, Priority.REPAIR, self.run.keep, LISTING)

    def add_finalizer(self) -> None:
        """Keep the object until our resources are removed."""
        if PORT_POOL_FINALIZER not in self.pool.body["finalizers"]:
            self._set_finalizers([*self.pool.body["finalizers"], PORT_POOL_FINALIZER])

    def remove_finalizer(self) -> None:
        """Let Kubernetes delete the object. Raises NotFound when it is gone already."""
        if PORT_POOL_FINALIZER in self.pool.body["finalizers"]:
            self._set_finalizers([name for name in self.pool.body["finalizers"] if name != PORT_POOL_FINALIZER])

    def record_write(self, pool: Snapshot) -> None:
        """Go on with the version of the object that this run wrote."""
        self.pool = pool
        self.run.record_write(pool)

    def _set_finalizers(self, finalizers: list[str]) -> None:
        self.run.keep(self.services.call_time)
        self.record_write(self.services.pools.set_finalizers(self.pool, finalizers))
