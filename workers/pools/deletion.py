"""The end of a pool: nothing is taken from a pod that holds a port, and nothing is deleted that is not ours."""

from __future__ import annotations

import structlog

from workers.cloud.driver import LoadBalancerApi
from workers.cloud.errors import NotFound
from workers.pools.inventory import slot_of
from workers.services import PortServices
from workers.stores.growth import Growth
from workers.stores.ledger_view import owners

log = structlog.get_logger()


def finalize(services: PortServices, driver: LoadBalancerApi, pool: str, growth: Growth) -> str:
    """Removes what we created; the state Deleting keeps new ports from being given.

    '' when all is gone, else what is left.
    """
    holding = sum(1 for _, entries in owners(growth.ledger) if entries)
    if holding:
        return f"{holding} pods still hold ports of the pool"
    for lb in driver.find_owned_load_balancers(services.cluster, pool):
        if slot_of(services.cluster, pool, lb.name) is None:
            continue
        if foreign := _listeners(driver, lb.arn):
            return f"load balancer {lb.name} has {foreign} listeners that are not ours to delete"
        driver.delete_load_balancer(lb.arn)
        log.info("load_balancer_deleted", pool=pool, lb=lb.name)
    for group in driver.target_groups_owned(services.cluster, pool):
        driver.delete_target_group(group.arn)
    left = growth.drop()
    return f"{left} pods still hold ports of the pool" if left else ""


def _listeners(driver: LoadBalancerApi, arn: str) -> int:
    try:
        return len(driver.listeners(arn))
    except NotFound:
        return 0
