"""Removes a deleted pool: takes no port from a pod, and deletes only what is ours."""

from __future__ import annotations

import contextlib

import structlog

from berthmaster.routing import pod_key
from domain.port_pools.port_pool import PortPoolSpec
from domain.ports.entry import EntryState
from workers.cloud.driver import Listener, LoadBalancer, LoadBalancerApi
from workers.cloud.errors import CloudNotFound
from workers.cloud.tags import belongs_to
from workers.port_audit.inventory import slot_of
from workers.port_pools.pool_run import PortPoolRun
from workers.stores.ports.view import owners

log = structlog.get_logger()


def remove_pool(pool_run: PortPoolRun, driver: LoadBalancerApi, spec: PortPoolSpec) -> str:
    """Remove what we created, then the ledger. The state Deleting keeps the ledger from giving new ports.

    Returns why that cannot be now, '' when all is gone.
    """
    if held := dict(owners(pool_run.ledger)):
        retained = [
            name for name, entries in held.items() if any(entry.state is EntryState.RETAINED for entry in entries)
        ]
        # a deleted pool retains nothing
        pool_run.services.queue.touch([pod_key(*name.split("/")) for name in retained], [pool_run.name])
        return f"{len(held)} pods still hold ports of the pool"
    if pool_run.pool_ledger.under_way():  # a load balancer created after the last list would have no owner
        return "a load balancer may be about to be created"
    if obstacle := CloudRemoval(driver, pool_run.services.cluster, pool_run.name, spec).run():
        return obstacle
    holders = pool_run.pool_ledger.drop()
    return f"{holders} pods still hold ports of the pool" if holders else ""


class CloudRemoval:
    """Deletes listeners, load balancers and target groups with the tags of one pool, each by its ARN."""

    def __init__(self, driver: LoadBalancerApi, cluster: str, pool: str, spec: PortPoolSpec) -> None:
        self._driver, self._cluster, self._pool, self._spec = driver, cluster, pool, spec

    def run(self) -> str:
        """Delete everything. Returns why something of ours must stay for now, '' when nothing is left."""
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
        kept = next((name for name, listeners in foreign.items() if listeners), "")
        return f"load balancer {kept} has {foreign[kept]} listeners that are not ours to delete" if kept else ""

    def _created(self) -> list[LoadBalancer]:
        prefix = self._spec.auto_create.parameters.name_prefix
        owned = self._driver.find_owned_load_balancers(self._cluster, self._pool)
        return [lb for lb in owned if slot_of(self._cluster, self._pool, lb.name, prefix) is not None]

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
