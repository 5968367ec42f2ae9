"""Configures the ledger of a pool: its spec, its state, its load balancers and their capacity."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import structlog

from berthmaster.errors import TransientError
from berthmaster.routing import pod_key, port_pool_key
from domain.port_pools.port_pool import PoolState
from domain.ports.precreate import kinds
from workers.port_audit.inventory import NOT_FOUND, Inventory, InventoryReader
from workers.port_pools.overlap import neighbours
from workers.port_pools.pool_run import PortPoolRun
from workers.port_pools.rebuild import touch_owners_without_port
from workers.scale_up.pool_config import PoolConfig, decode_config
from workers.stores.ports.pool_ledger import PoolLoadBalancer, Span
from workers.stores.ports.pool_notes import PoolNotes
from workers.stores.ports.precreated import Stock
from workers.stores.ports.view import LedgerView, known_arns, owners, view

log = structlog.get_logger()


def configure(pool_run: PortPoolRun, config: PoolConfig, inventory: Inventory | None) -> None:
    """Configure the ledger, and report the load balancers that came, went or give no ports.

    `inventory` is that of a rebuild that has just ended. Otherwise only a change of the spec, or a request to list the
    load balancers again, costs calls to the cloud.
    """
    before, previous = view(pool_run.ledger), decode_config(pool_run.pool_ledger.config())
    state = _state(pool_run, config)
    unchanged = _is_configured(before, previous, state, config)
    if not pool_run.pool_ledger.must_recheck() and unchanged:
        return
    rebuilt = inventory is not None
    inventory = inventory or _read_inventory(pool_run, config, before)
    span = Span(config.spec.start_port, len(config.spec.ports), kinds(config.spec))
    lbs = inventory.load_balancers + _former_in_use(before, inventory, Stock(pool_run.ledger).carriers())
    newest = pool_run.services.queue.newest_token()  # after the stamp of a rebuild: rule newest
    woken = pool_run.pool_ledger.configure(newest, before.epoch, state, config.encoded(), span, lbs)
    if woken is None:
        raise TransientError(f"the capacity of pool {pool_run.name} changed meanwhile", timedelta(0))
    unusable = inventory.unusable | dict.fromkeys(_vanished(before, inventory), NOT_FOUND)
    log.info("pool_configured", pool=pool_run.name, state=state, lbs=len(lbs), unusable=unusable)
    _report(pool_run, config, unusable, _taken_out(before, previous, config))
    pool_run.services.queue.touch([pod_key(*name.split("/")) for name in woken])
    sharing = neighbours(pool_run.services, pool_run.name, config.spec)
    pool_run.services.queue.touch([port_pool_key(other.name) for other in sharing])  # one of the two may give way
    if not (rebuilt and state is PoolState.DELETING):  # each pod would touch the pool, which would rebuild again
        touch_owners_without_port(pool_run.services, pool_run.ledger, pool_run.name)


def _state(pool_run: PortPoolRun, config: PoolConfig) -> PoolState:
    if pool_run.deleting:
        return PoolState.DELETING
    return PoolState.PENDING if config.conflict else PoolState.ACTIVE


def _is_configured(before: LedgerView, previous: PoolConfig | None, state: PoolState, config: PoolConfig) -> bool:
    if before.state != state or previous is None or previous.version != config.version:
        return False
    return not any(lb.capacity and config.spec.blocks(lb.name, lb.arn) for lb in before.load_balancers)


def _read_inventory(pool_run: PortPoolRun, config: PoolConfig, before: LedgerView) -> Inventory:
    entries = (entry for _, held in owners(pool_run.ledger) for entry in held)
    recorded = known_arns(before.load_balancers, entries, Stock(pool_run.ledger).all().values())
    driver, cluster = pool_run.driver(config), pool_run.services.cluster
    return InventoryReader(driver, cluster, pool_run.name, config.spec, recorded).read(with_groups=False)


def _report(
    pool_run: PortPoolRun, config: PoolConfig, unusable: dict[str, str], taken_out: list[PoolLoadBalancer]
) -> None:
    """Note the unusable load balancers for the status, and write Events."""
    PoolNotes(pool_run.pool_ledger.redis, pool_run.pool_ledger.prefix).put_unusable(unusable)
    events, uid = pool_run.services.events, pool_run.pool.uid
    for arn, why in unusable.items():
        reason = "LoadBalancerNotFound" if why == NOT_FOUND else "LoadBalancerUnusable"
        events.pool(pool_run.name, uid, reason, f"load balancer {arn}: {why}", f"{arn}/{why}", warning=True)
    for lb in taken_out:
        message = f"load balancer {lb.name} is not in the pool any more; it keeps {lb.used} ports in use"
        events.pool(pool_run.name, uid, "LoadBalancerTakenOut", message, f"{lb.arn}/{config.generation}")


def _vanished(before: LedgerView, inventory: Inventory) -> list[str]:
    """ARNs of created load balancers that gave ports and do not exist any more."""
    names = {lb.name for lb in inventory.load_balancers}
    return [lb.arn for lb in before.load_balancers if lb.slot >= 0 and lb.capacity and lb.name not in names]


def _former_in_use(before: LedgerView, inventory: Inventory, carriers: set[str]) -> list[PoolLoadBalancer]:
    """Load balancers that have left the pool with ports of pods or listeners of ours: they give no new ports."""
    names = {lb.name for lb in inventory.load_balancers}
    in_use = (lb for lb in before.load_balancers if lb.used or lb.retiring or lb.name in carriers)
    return [replace(lb, capacity=0) for lb in in_use if lb.name not in names]


def _taken_out(before: LedgerView, previous: PoolConfig | None, config: PoolConfig) -> list[PoolLoadBalancer]:
    """Existing load balancers that the spec named until now."""
    removed = set(previous.spec.load_balancers if previous else ()) - set(config.spec.load_balancers)
    return [lb for lb in before.load_balancers if lb.arn in removed]
