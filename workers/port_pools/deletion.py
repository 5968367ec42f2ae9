"""Removes a deleted pool: takes no port from a pod, and deletes only what is ours."""

from __future__ import annotations

import contextlib
from collections.abc import Collection

import structlog

from berthmaster.routing import pod_key
from domain.port_pools.port_pool import PortPoolSpec
from domain.ports.entry import EntryState
from domain.quantity import quantity
from workers.cloud.driver import Listener, LoadBalancer, LoadBalancerApi
from workers.cloud.errors import CloudNotFound
from workers.cloud.tags import belongs_to, created_tags
from workers.port_audit.inventory import slot_of
from workers.port_pools.pool_run import PortPoolRun
from workers.stores.ports.view import owners, view

log = structlog.get_logger()


def remove_pool(pool_run: PortPoolRun, driver: LoadBalancerApi, spec: PortPoolSpec) -> str | None:
    """Remove what we created, then the ledger. The state Deleting keeps the ledger from giving new ports.

    Returns why that cannot be now, None when all is gone.
    """
    if held := dict(owners(pool_run.ledger)):
        retained = [
            name for name, entries in held.items() if any(entry.state is EntryState.RETAINED for entry in entries)
        ]
        # a deleted pool retains nothing
        pool_run.services.queue.touch([pod_key(*name.split("/")) for name in retained], [pool_run.name])
        return f"{quantity(len(held), 'pod still holds', 'pods still hold')} ports of the pool"
    if pool_run.pool_ledger.under_way():  # a load balancer created after the last list would have no owner
        return "a load balancer may be about to be created"
    created = [lb.arn for lb in view(pool_run.ledger).load_balancers if lb.slot >= 0]
    if obstacle := CloudRemoval(driver, pool_run.services.cluster, pool_run.name, spec, created).run():
        return obstacle
    holders = pool_run.pool_ledger.drop()
    return f"{quantity(holders, 'pod still holds', 'pods still hold')} ports of the pool" if holders else None


class CloudRemoval:
    """Deletes listeners, load balancers and target groups with the tags of one pool, each by its ARN.

    `recorded`: load balancers that the ledger has as created, since people may have removed their tags.
    """

    def __init__(
        self, driver: LoadBalancerApi, cluster: str, pool: str, spec: PortPoolSpec, recorded: Collection[str]
    ) -> None:
        self._driver, self._cluster, self._pool, self._spec, self._recorded = driver, cluster, pool, spec, recorded

    def run(self) -> str | None:
        """Delete everything. Returns why something of ours must stay for now, None when nothing is left."""
        created = self._created()
        for lb in self._driver.find_load_balancers(arns=self._spec.load_balancers):
            self._delete_listeners(lb)
        foreign = {lb.name: self._delete_listeners(lb) for lb in created}
        for lb in created:
            if not foreign[lb.name]:
                self._driver.delete_load_balancer(lb.arn)
                log.info("load_balancer_deleted", pool=self._pool, lb=lb.name)
        for group in self._driver.target_groups_owned(self._cluster, self._pool):
            self._driver.delete_target_group(group.arn)
        kept = next((name for name, listeners in foreign.items() if listeners), None)
        if kept is None:
            return None
        others = quantity(foreign[kept], "listener that is", "listeners that are")
        return f"load balancer {kept} has {others} not ours to delete"

    def _created(self) -> list[LoadBalancer]:
        prefix = self._spec.auto_create.parameters.name_prefix
        owned = {lb.arn: lb for lb in self._driver.find_owned_load_balancers(self._cluster, self._pool)}
        untagged = self._driver.find_load_balancers(arns=sorted(set(self._recorded) - owned.keys()))
        # AWS allows us to delete only what has our tags.
        self._driver.tag([lb.arn for lb in untagged], created_tags(self._cluster, self._pool))
        owned |= {lb.arn: lb for lb in untagged}
        return [lb for lb in owned.values() if slot_of(self._cluster, self._pool, lb.name, prefix) is not None]

    def _delete_listeners(self, lb: LoadBalancer) -> int:
        """Delete our listeners on it. Returns how many of others it has."""
        listeners: list[Listener] = []
        with contextlib.suppress(CloudNotFound):
            listeners = self._driver.listeners(lb.arn)
        ours = [listener for listener in listeners if belongs_to(listener.tags, self._cluster, self._pool)]
        for listener in ours:
            self._driver.delete_listener(listener.arn)
            log.info("listener_deleted", pool=self._pool, lb=lb.name, port=listener.port)
        return len(listeners) - len(ours)
