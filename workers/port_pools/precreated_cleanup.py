"""Removes the precreated listeners of load balancers that have left their pool."""

from __future__ import annotations

import structlog

from domain.port_pools.port_pool import PortPoolSpec
from workers.cloud.driver import LoadBalancerApi
from workers.stores.ports.ledger import Ledger
from workers.stores.ports.precreated import Stock
from workers.stores.ports.view import owners, view

log = structlog.get_logger()


def remove_former_listeners(ledger: Ledger, driver: LoadBalancerApi, spec: PortPoolSpec) -> None:
    """Delete, by ARN, what no pod holds on load balancers that the spec does not name any more.

    A listener leaves the stock only once it is deleted, so that the next run continues the work of a run that died.
    """
    former = {lb.name for lb in view(ledger).load_balancers if lb.slot < 0 and lb.arn not in spec.load_balancers}
    if not former:
        return
    stock = Stock(ledger)
    rows = {place: arns for place, arns in stock.all().items() if place.rpartition(":")[0] in former}
    held = {entry.key for _, entries in owners(ledger) for entry in entries} if rows else set()
    for place, (listener, group) in sorted(rows.items()):
        if place not in held:
            driver.delete_listener(listener)
            driver.delete_target_group(group)
            stock.lost(place, listener)
            log.info("precreated_listener_deleted", pool=ledger.pool, place=place)
