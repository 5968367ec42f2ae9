"""The end of a pool: nothing is taken from a pod that holds a port, and nothing is deleted that is not ours."""

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
from workers.port_services import PortServices
from workers.stores.ports.pool_ledger import Growth
from workers.stores.ports.view import owners

log = structlog.get_logger()


def finalize(services: PortServices, driver: LoadBalancerApi, pool: str, spec: PortPoolSpec, growth: Growth) -> str:
    """Removes what we created; the state Deleting keeps new ports from being given.

    '' when all is gone, else what is left.
    """
    holding = dict(owners(growth.ledger))
    if holding:
        kept = [n for n, entries in holding.items() if any(e.state is EntryState.RETAINED for e in entries)]
        services.queue.touch([pod_key(*name.split("/")) for name in kept], [pool])  # a pool that goes keeps nothing
        return f"{len(holding)} pods still hold ports of the pool"
    if growth.under_way():  # what comes into being after the last look would belong to nobody
        return "a load balancer may be about to be created"
    if left := Demolition(driver, services.cluster, pool, spec).left():
        return left
    still = growth.drop()
    return f"{still} pods still hold ports of the pool" if still else ""


class Demolition:
    """Deletes listeners, load balancers and target groups with the tags of one pool, each by its ARN."""

    def __init__(self, driver: LoadBalancerApi, cluster: str, pool: str, spec: PortPoolSpec) -> None:
        self._driver, self._cluster, self._pool, self._spec = driver, cluster, pool, spec

    def left(self) -> str:
        """Why something of ours must stay for now, '' when nothing is left."""
        created = self._created()
        for lb in self._driver.find_load_balancers(arns=self._spec.load_balancers):
            self._clear(lb)
        strangers = {lb.name: self._clear(lb) for lb in created}
        for lb in created:
            if not strangers[lb.name]:
                self._driver.delete_load_balancer(lb.arn)
                log.info("load_balancer_deleted", pool=self._pool, lb=lb.name)
        for group in self._driver.target_groups_owned(self._cluster, self._pool):
            self._driver.delete_target_group(group.arn)
        kept = next((name for name, others in strangers.items() if others), "")
        return f"load balancer {kept} has {strangers[kept]} listeners that are not ours to delete" if kept else ""

    def _created(self) -> list[LoadBalancer]:
        prefix = self._spec.auto_create.parameters.name_prefix
        owned = self._driver.find_owned_load_balancers(self._cluster, self._pool)
        return [lb for lb in owned if slot_of(self._cluster, self._pool, lb.name, prefix) is not None]

    def _clear(self, lb: LoadBalancer) -> int:
        """Deletes our listeners on it; how many of others it has."""
        listeners: list[Listener] = []
        with contextlib.suppress(CloudNotFound):
            listeners = self._driver.listeners(lb.arn)
        ours = [each for each in listeners if belongs_to(each.tags, self._cluster, self._pool)]
        for listener in ours:
            self._driver.delete_listener(listener.arn)
            log.info("listener_deleted", pool=self._pool, lb=lb.name, port=listener.port)
        return len(listeners) - len(ours)
