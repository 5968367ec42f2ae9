"""Compares AWS with the ledger, once a period and pool: leftovers of ours are removed after a grace, lost listeners
made again, load balancers outside the ledger adopted. What does not carry our tags is never touched.
"""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from domain.ports.entry import Entry, EntryState
from domain.ports.rebuild import Found
from events.routing import pod_key, port_pool_key
from workers.cloud.driver import LoadBalancerApi
from workers.cloud.errors import Busy
from workers.cloud.priority import Priority
from workers.pools.ask import ask
from workers.pools.config import decode_config
from workers.pools.inventory import Cartographer, Inventory
from workers.ports.metrics import count_orphan
from workers.services import PortServices
from workers.stores.growth import Growth
from workers.stores.ledger import Ledger, NotReady
from workers.stores.ledger_view import owners, view
from workers.stores.stock import Stock

log = structlog.get_logger()
Held = dict[tuple[str, str, int], tuple[str, Entry]]  # id of an entry -> name of its owner, and the entry


def audit(services: PortServices) -> None:
    for pool in services.pool_names.all():
        try:
            PoolAudit(services, pool).run()
        except NotReady:
            log.info("ledger_not_ready", pool=pool)


class PoolAudit:
    def __init__(self, services: PortServices, pool: str) -> None:
        self._services, self._pool = services, pool
        self._ledger: Ledger = services.ledger(pool)
        self._growth = Growth(self._ledger)

    def run(self) -> None:
        config = decode_config(self._growth.config())
        if not config:
            return
        driver = self._services.driver(config.spec.region)
        driver = driver.on_behalf_of(f"audit/{self._pool}", Priority.REPAIR, patience=self._services.call_time)
        stock = Stock(self._ledger).all()
        before = self._held()  # what was bound before AWS was listed must be in the list; what is bound since may not
        inventory = Cartographer(driver, self._services.cluster, self._pool, config.spec).take()
        self._orphans(driver, inventory, self._held())
        self._missing(inventory, before)
        self._lost(inventory, stock)
        self._strays(inventory)
        self._growth.prune_fences()

    def _held(self) -> Held:
        return {entry.id: (name, entry) for name, entries in owners(self._ledger) for entry in entries}

    def _orphans(self, driver: LoadBalancerApi, inventory: Inventory, held: Held) -> None:
        """Seen twice, a grace apart: a run may be between its call and its record."""
        mine = {e.listener for _, e in held.values()} | {e.target_group for _, e in held.values()}
        found = [
            f for f in inventory.listeners + inventory.groups if (f.entry.listener or f.entry.target_group) not in mine
        ]
        arns = {(f.entry.listener or f.entry.target_group): f for f in found}
        for arn in self._services.orphans.ripe(self._ledger.prefix, list(arns), self._services.orphan_grace):
            self._remove(driver, arns[arn])

    def _remove(self, driver: LoadBalancerApi, found: Found) -> None:
        """The port is taken as releasing first; then a run of the owner named in the tag removes what is there."""
        entry = found.entry
        log.warning("orphan_found", pool=self._pool, owner=found.owner, lb=entry.lb, port=entry.port)
        count_orphan(self._pool)
        if self._ledger.orphan(found.owner, entry.uid, entry.key, entry.listener, entry.target_group):
            self._services.queue.touch([pod_key(*found.owner.split("/"))], [self._pool])
        elif not entry.listener:
            try:
                driver.delete_target_group(entry.target_group)
            except Busy:
                log.info("orphan_in_use", pool=self._pool, target_group=entry.target_group)

    def _missing(self, inventory: Inventory, held: Held) -> None:
        """A bound entry whose listener AWS does not have is bound again by its owner's run."""
        there = {f.entry.listener for f in inventory.listeners} | {listener for listener, _ in inventory.stock.values()}
        known = {lb.name for lb in inventory.load_balancers}
        for name, entry in held.values():
            lost = entry.state is EntryState.BOUND and entry.listener and entry.listener not in there
            if lost and entry.lb in known and self._growth.missing(name, entry):
                log.warning("listener_missing", pool=self._pool, pod=name, lb=entry.lb, port=entry.port)
                self._services.queue.touch([pod_key(*name.split("/"))], [self._pool])

    def _lost(self, inventory: Inventory, stock: Mapping[str, tuple[str, str]]) -> None:
        """A precreated listener that AWS does not have is made again, by its owner's run or by the pool's."""
        there = {listener for listener, _ in inventory.stock.values()}
        known = {lb.name for lb in inventory.load_balancers}
        for key, (listener, _) in stock.items():
            if key.rpartition(":")[0] in known and listener not in there and Stock(self._ledger).lost(key, listener):
                log.warning("precreated_listener_missing", pool=self._pool, place=key)
                self._services.queue.touch([port_pool_key(self._pool)])

    def _strays(self, inventory: Inventory) -> None:
        ledger, there = view(self._ledger).load_balancers, {lb.name for lb in inventory.load_balancers}
        known = {lb.name for lb in ledger}
        if {lb.name for lb in ledger if lb.capacity} - there or inventory.others_changed(ledger):
            self._growth.ask_recheck()  # one was deleted by hand: no new ports on it; or others came or went
            self._services.queue.touch([port_pool_key(self._pool)])
        for lb in inventory.load_balancers:
            if lb.slot >= 0 and lb.name not in known and lb.capacity and (epoch := self._growth.adopt(lb.slot)):
                log.warning("load_balancer_adopted", pool=self._pool, lb=lb.name)
                ask(self._services, self._pool, epoch)
