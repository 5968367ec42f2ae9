"""Removes created load balancers that stay empty: retire in the ledger, tag, confirm, delete, forget.

Retiring is never taken back, because the delete of a slow worker may be on its way. So a run lists the listeners of a
load balancer before it retires it, and again right before the delete: the cloud deletes a load balancer whatever is on
it. The pool's next run continues with whatever a dead run left retiring.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Final

import structlog

from berthmaster.routing import port_pool_key
from berthmaster.spec import length
from domain.port_pools.removal import idle_load_balancers
from workers.cloud.driver import Listener, TargetGroup
from workers.cloud.errors import CloudError, CloudNotFound, CloudUnavailable, Throttled
from workers.cloud.priority import Priority
from workers.cloud.tags import LOAD_BALANCER, RETIRING, UID, belongs_to
from workers.port_pools.pool_run import PortPoolRun
from workers.scale_up.pool_config import PoolConfig, decode_config
from workers.scale_up.sweep import wake_and_request
from workers.stores.ports.pool_ledger import PoolLoadBalancer, PortPoolLedger
from workers.stores.ports.precreated import Stock
from workers.stores.ports.retirement import Retirement
from workers.stores.ports.view import LedgerView, view
from workers.telemetry.port_metrics import count_removal

log = structlog.get_logger()
MOST: Final = 10
"""Load balancers that one run begins to remove."""
PUT_OFF: Final = timedelta(minutes=5)
"""The wait after something was in the way, or the cloud refused."""


class Removal:
    """The idle load balancers that one run of a pool removes."""

    def __init__(self, pool_run: PortPoolRun, config: PoolConfig) -> None:
        self._services, self._pool, self._config = pool_run.services, pool_run.name, config
        self._ledger, self._pool_ledger = pool_run.ledger, pool_run.pool_ledger
        self._retirement = Retirement(self._ledger)
        driver, run = self._services.driver(config.spec.region), pool_run.run
        self._driver = driver.on_behalf_of(run.key, Priority.REPAIR, run.keep)

    def run(self) -> bool:
        """Remove what is idle. Returns whether anything has changed."""
        observed = view(self._ledger)
        retiring = [lb for lb in observed.load_balancers if lb.retiring and not self._retirement.is_put_off(lb)]
        idle = [lb for lb in self._idle(observed) if not self._retirement.is_put_off(lb)][:MOST]
        retiring += [lb for lb in idle if self._retire(lb)]
        if deleted := [lb for lb in retiring if self._delete(lb)]:
            self._forget(deleted)
        return bool(retiring)

    def _idle(self, observed: LedgerView) -> list[PoolLoadBalancer]:
        create = self._config.spec.auto_create
        if not create.enabled:
            return []
        return idle_load_balancers(observed.load_balancers, length(create.scale_down_delay), observed.demand)

    def _retire(self, lb: PoolLoadBalancer) -> bool:
        try:
            if self._is_obstructed(lb):
                return False
        except CloudNotFound:  # deleted by hand
            return self._recheck()
        if lb.foreign:  # foreign listeners that the ledger has and the cloud has not
            return self._recheck()
        retired = self._retirement.retire(lb, length(self._config.spec.auto_create.scale_down_delay))
        if retired:
            log.info("load_balancer_retiring", pool=self._pool, lb=lb.name)
        return retired

    def _recheck(self) -> bool:
        self._pool_ledger.ask_recheck()
        self._services.queue.touch([port_pool_key(self._pool)])
        return False

    def _is_obstructed(self, lb: PoolLoadBalancer) -> bool:
        """Whether the cloud has a listener on it that is foreign or of a pod, or a pool names it.

        The audit repairs the ledger when that lacks the listener of a pod.
        """
        listeners = [listener for listener in self._driver.listeners(lb.arn) if not self._is_unused(listener)]
        pools = self._pools_naming(lb.arn)
        if listeners or pools:
            self._retirement.put_off(lb, PUT_OFF)
            ports = [listener.port for listener in listeners]
            log.info("load_balancer_kept", pool=self._pool, lb=lb.name, listeners=ports, pools=pools)
        return bool(listeners or pools)

    def _is_unused(self, listener: Listener) -> bool:
        """Whether it is a precreated listener of ours that is retained for no pod."""
        return belongs_to(listener.tags, self._services.cluster, self._pool) and not listener.tags.get(UID)

    def _pools_naming(self, arn: str) -> list[str]:
        """The pools that name it as an existing load balancer; this pool may be among them."""
        configs = {
            pool: decode_config(PortPoolLedger(self._services.ledger(pool)).config())
            for pool in self._services.pool_names.all()
        }
        return [pool for pool, config in configs.items() if config and arn in config.spec.load_balancers]

    def _delete(self, lb: PoolLoadBalancer) -> bool:
        """Delete a retiring load balancer. Returns whether it is gone."""
        try:
            self._driver.tag([lb.arn], {RETIRING: "true"})
            if self._is_obstructed(lb) or not self._retirement.confirm(lb):
                return False
            self._driver.delete_load_balancer(lb.arn)
        except CloudNotFound:
            return True
        except (Throttled, CloudUnavailable):
            raise
        except CloudError as error:
            self._retirement.put_off(lb, PUT_OFF)
            reason = f"{lb.name} cannot be removed: {error.call}: {error.code}"
            log.warning("load_balancer_not_removed", pool=self._pool, lb=lb.name, error=str(error))
            self._write_event("LoadBalancerNotRemoved", reason, f"{lb.arn}/{error.code}", warning=True)
            return False
        return True

    def _forget(self, deleted: list[PoolLoadBalancer]) -> None:
        """Delete their unused target groups, then let demand that does not fit use their slots again."""
        names = {lb.name for lb in deleted}
        stock = Stock(self._ledger).all().items()
        recorded = {group for place, (_, group) in stock if place.rpartition(":")[0] in names}  # they may lack tags
        for group in self._driver.target_groups_owned(self._services.cluster, self._pool):
            if _was_on(group, deleted, recorded):
                self._driver.delete_target_group(group.arn)
        for lb in deleted:
            if self._retirement.forget(lb):
                count_removal(self._pool)
                log.info("load_balancer_removed", pool=self._pool, lb=lb.name)
                self._write_event("LoadBalancerRemoved", f"removed the idle load balancer {lb.name}", lb.arn)
        wake_and_request(self._services, self._pool)

    def _write_event(self, reason: str, message: str, once: str, warning: bool = False) -> None:
        self._services.events.pool(self._pool, self._config.uid, reason, message, once, warning)


def _was_on(group: TargetGroup, deleted: list[PoolLoadBalancer], recorded: Collection[str]) -> bool:
    named = group.arn in recorded or group.tags.get(LOAD_BALANCER) in {lb.name for lb in deleted}
    return named and set(group.load_balancer_arns) <= {lb.arn for lb in deleted}
