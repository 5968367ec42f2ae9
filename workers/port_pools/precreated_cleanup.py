"""Removes precreated listeners of load balancers that left their pool."""

from __future__ import annotations

import structlog

from domain.port_pools.port_pool import PortPoolSpec
from workers.cloud.driver import LoadBalancerApi
from workers.stores.ports.ledger import Ledger
from workers.stores.ports.precreated import Stock
from workers.stores.ports.view import owners, view

log = structlog.get_logger()


def clear(ledger: Ledger, driver: LoadBalancerApi, spec: PortPoolSpec) -> None:
    """A load balancer that is in the spec no more gives no new ports; what nobody holds there goes, by its ARN.

    It leaves the stock only when it is gone, so that a run that dies is continued by the next one.
    """
    left = {lb.name for lb in view(ledger).load_balancers if lb.slot < 0 and lb.arn not in spec.load_balancers}
    stock = Stock(ledger)
    rows = {key: made for key, made in stock.all().items() if key.rpartition(":")[0] in left} if left else {}
    held = {entry.key for _, entries in owners(ledger) for entry in entries} if rows else set()
    for key, (listener, group) in sorted(rows.items()):
        if key not in held:
            driver.delete_listener(listener)
            driver.delete_target_group(group)
            stock.lost(key, listener)
            log.info("precreated_listener_deleted", pool=ledger.pool, place=key)
