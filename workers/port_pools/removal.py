"""Removes load balancers of ours that stay empty: retire in the ledger, tag in AWS, confirm, delete, forget.

Retiring is never taken back, because a delete of a slow worker may be on its way; so a run looks into AWS before it
retires one. Whatever dies in between, the pool's next run goes on with what is retiring. AWS deletes a load balancer
whatever is on it, so it looks again right before.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Final

import structlog

from berthmaster.routing import port_pool_key
from berthmaster.spec import length
from domain.port_pools.removal import idle
from workers.cloud.driver import Listener, TargetGroup
from workers.cloud.errors import CloudError, CloudNotFound, CloudUnavailable, Throttled
from workers.cloud.priority import Priority
from workers.cloud.tags import CLUSTER, LOAD_BALANCER, POOL, RETIRING, UID
from workers.port_services import PortServices
from workers.run import Run
from workers.scale_up.pool_config import PoolConfig, decode_config
from workers.scale_up.sweep import wake_and_ask
from workers.stores.ports.pool_ledger import Growth, PoolLoadBalancer
from workers.stores.ports.precreated import Stock
from workers.stores.ports.retirement import Retirement
from workers.stores.ports.view import view
from workers.telemetry.port_metrics import count_removal

log = structlog.get_logger()
MOST: Final = 10  # load balancers that a run begins to remove
PUT_OFF: Final = timedelta(minutes=5)  # when something is in the way, or AWS refuses


class Removal:
    """What one run of a pool does about its idle load balancers."""

    def __init__(self, services: PortServices, run: Run, pool: str, config: PoolConfig) -> None:
        self._services, self._pool, self._config = services, pool, config
        self._ledger = services.ledger(pool)
        self._retirement = Retirement(self._ledger)
        self._driver = services.driver(config.spec.region).on_behalf_of(run.key, Priority.REPAIR, run.keep)

    def run(self) -> bool:
        """Whether anything has changed."""
        create, seen = self._config.spec.auto_create, view(self._ledger)
        found = idle(seen.load_balancers, length(create.scale_down_delay), seen.demand) if create.enabled else []
        going = [lb for lb in seen.load_balancers if lb.retiring and not self._retirement.is_put_off(lb)]
        retired = [lb for lb in found if not self._retirement.is_put_off(lb)][:MOST]
        going += [lb for lb in retired if self._retires(lb)]
        if gone := [lb for lb in going if self._deletes(lb)]:
            self._forget(gone)
        return bool(going)

    def _retires(self, lb: PoolLoadBalancer) -> bool:
        try:
            if self._in_the_way(lb):
                return False
        except CloudNotFound:  # deleted by hand
            return self._look_again()
        if lb.foreign:  # strangers that the ledger knows, and that AWS has no more
            return self._look_again()
        retired = self._retirement.retire(lb, length(self._config.spec.auto_create.scale_down_delay))
        if retired:
            log.info("load_balancer_retiring", pool=self._pool, lb=lb.name)
        return retired

    def _look_again(self) -> bool:
        Growth(self._ledger).ask_recheck()
        self._services.queue.touch([port_pool_key(self._pool)])
        return False

    def _in_the_way(self, lb: PoolLoadBalancer) -> bool:
        """A stranger's listener, a pod's that the ledger does not know (the audit sees to it), or another pool."""
        listeners = [found for found in self._driver.listeners(lb.arn) if not self._is_spare(found)]
        pools = self._named_by(lb.arn)
        if listeners or pools:
            self._retirement.put_off(lb, PUT_OFF)
            ports = [found.port for found in listeners]
            log.info("load_balancer_kept", pool=self._pool, lb=lb.name, listeners=ports, pools=pools)
        return bool(listeners or pools)

    def _is_spare(self, listener: Listener) -> bool:
        """Ours, and of no pod: made beforehand, and promised to nobody any more."""
        tags = listener.tags
        return tags.get(CLUSTER) == self._services.cluster and tags.get(POOL) == self._pool and not tags.get(UID)

    def _named_by(self, arn: str) -> list[str]:
        """Pools that name it as an existing one; this may be among them."""
        configs = {
            pool: decode_config(Growth(self._services.ledger(pool)).config())
            for pool in self._services.pool_names.all()
        }
        return [pool for pool, config in configs.items() if config and arn in config.spec.load_balancers]

    def _deletes(self, lb: PoolLoadBalancer) -> bool:
        """True: AWS does not have it any more."""
        try:
            return self._delete(lb)
        except CloudNotFound:
            return True
        except (Throttled, CloudUnavailable):
            raise
        except CloudError as error:
            self._retirement.put_off(lb, PUT_OFF)
            reason = f"{lb.name} cannot be removed: AWS {error.action}: {error.code}"
            log.warning("load_balancer_not_removed", pool=self._pool, lb=lb.name, error=str(error))
            self._tell("LoadBalancerNotRemoved", reason, f"{lb.arn}/{error.code}", warning=True)
            return False

    def _delete(self, lb: PoolLoadBalancer) -> bool:
        self._driver.tag([lb.arn], {RETIRING: "true"})
        if self._in_the_way(lb) or not self._retirement.confirm(lb):
            return False
        self._driver.delete_load_balancer(lb.arn)
        return True

    def _forget(self, gone: list[PoolLoadBalancer]) -> None:
        """Its spare target groups go as well; then what does not fit may grow again, also into its slot."""
        names = {lb.name for lb in gone}
        stock = Stock(self._ledger).all().items()
        known = {group for key, (_, group) in stock if key.rpartition(":")[0] in names}  # also with lost tags
        for group in self._driver.target_groups_owned(self._services.cluster, self._pool):
            if _was_on(group, gone, known):
                self._driver.delete_target_group(group.arn)
        for lb in gone:
            if self._retirement.forget(lb):
                count_removal(self._pool)
                log.info("load_balancer_removed", pool=self._pool, lb=lb.name)
                self._tell("LoadBalancerRemoved", f"removed the idle load balancer {lb.name}", lb.arn)
        wake_and_ask(self._services, self._pool)

    def _tell(self, reason: str, message: str, once: str, warning: bool = False) -> None:
        self._services.events.pool(self._pool, self._config.uid, reason, message, once, warning)


def _was_on(group: TargetGroup, gone: list[PoolLoadBalancer], known: Collection[str]) -> bool:
    named = group.arn in known or group.tags.get(LOAD_BALANCER) in {lb.name for lb in gone}
    return named and set(group.load_balancer_arns) <= {lb.arn for lb in gone}
