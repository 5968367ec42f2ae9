"""What is done about a difference. Each repair is safe to repeat, and touches only what is ours: whatever needs a
decision about a pod's port is left to a run of that pod, under its lease.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import structlog

from berthmaster.errors import TerminalError, TransientError
from berthmaster.routing import pod_key, port_pool_key
from domain.port_audit.difference import Difference, Remedy
from domain.ports.endpoints import published
from domain.ports.entry import Entry
from domain.ports.target import address_of
from workers.cloud.call_budget import OverBudget
from workers.cloud.errors import Busy, CloudNotFound
from workers.port_audit.observe import Look
from workers.port_services import PortServices
from workers.ports.listeners.precreated import ask_to_compare
from workers.scale_up.request import ask
from workers.stores.ports.pool_ledger import Growth
from workers.stores.ports.precreated import Stock
from workers.stores.ports.view import entries_of_owner, owners, view
from workers.telemetry.port_metrics import count_orphan

log = structlog.get_logger()


class Repair:
    """One pass over one pool."""

    def __init__(self, services: PortServices, pool: str, look: Look) -> None:
        self._services, self._pool, self._driver = services, pool, look.driver
        self._ledger = services.ledger(pool)
        self._growth = Growth(self._ledger)
        self._slots = {lb.name: lb.slot for lb in look.inventory.load_balancers}
        self._doers: dict[Remedy, Callable[[Difference], None]] = {
            Remedy.RETAG: self._retag,
            Remedy.REBIND: self._forget,
            Remedy.DEREGISTER: self._deregister,
            Remedy.COMPARE: lambda found: ask_to_compare(self._services, self._pool, f"{found.lb}:{found.port}"),
            Remedy.RESTOCK: self._restock,
            Remedy.REMOVE: self._remove,
            Remedy.DISCARD: lambda found: self._discard(found.arn),
            Remedy.ADOPT: self._adopt,
            Remedy.RECHECK: lambda _: self._recheck(),
            Remedy.RUN: lambda found: self._run(found.owner),
            Remedy.REBUILD: self._rebuild,
        }

    def mend(self, found: Difference) -> str:
        """'' when it is done or on its way, else why not. Raises OverBudget: what is left waits for the next pass."""
        if found.remedy is Remedy.NONE:
            return str(Remedy.NONE)
        try:
            self._doers[found.remedy](found)
        except OverBudget:
            raise
        except (TransientError, TerminalError) as error:
            log.warning("drift_stays", pool=self._pool, kind=found.kind, lb=found.lb, port=found.port, error=str(error))
            return str(error)
        return ""

    def _run(self, owner: str) -> None:
        self._services.queue.touch([pod_key(*owner.split("/"))], [self._pool])

    def _recheck(self) -> None:
        self._growth.ask_recheck()
        self._services.queue.touch([port_pool_key(self._pool)])

    def _adopt(self, found: Difference) -> None:
        if epoch := self._growth.adopt(self._slots[found.lb]):
            ask(self._services, self._pool, epoch)

    def _retag(self, found: Difference) -> None:
        """Asked again right before: the port may have another owner by now, whose tags are others."""
        if found.entry and not self._stands(found.owner, found.entry):
            return
        try:
            self._driver.tag([found.arn], found.tags)
        except CloudNotFound:
            log.info("untagged_is_gone", pool=self._pool, arn=found.arn)

    def _stands(self, owner: str, entry: Entry) -> bool:
        return entry in entries_of_owner(self._ledger, owner)

    def _forget(self, found: Difference) -> None:
        assert found.entry
        if self._growth.missing(found.owner, found.entry):
            self._run(found.owner)

    def _deregister(self, found: Difference) -> None:
        """At a port of nobody. Who gets it meanwhile, and registers that very address, looks again."""
        if found.entry and not self._stands(found.owner, found.entry):
            return
        self._driver.deregister(found.arn, [address_of(found.target)])
        ask_to_compare(self._services, self._pool, f"{found.lb}:{found.port}")

    def _restock(self, found: Difference) -> None:
        """By the run of its owner, or that of the pool."""
        key = f"{found.lb}:{found.port}"
        if Stock(self._ledger).lost(key, found.arn):
            if found.entry and self._growth.missing(found.owner, found.entry):
                self._run(found.owner)
            self._services.queue.touch([port_pool_key(self._pool)])

    def _remove(self, found: Difference) -> None:
        """The port is taken as releasing first; then a run of the owner named in the tag removes what is there."""
        entry = found.entry
        assert entry
        count_orphan(self._pool)
        if (answer := self._take(found.owner, entry)) == "OK":
            self._run(found.owner)
        elif answer == "TAKEN" and self._taken_by_nobody(found.owner, entry):
            self._distrust()
        elif not entry.listener:
            try:
                self._driver.delete_target_group(entry.target_group)
            except Busy:
                log.info("orphan_in_use", pool=self._pool, target_group=entry.target_group)

    def _discard(self, target_group: str) -> None:
        with contextlib.suppress(Busy):  # a listener came meanwhile
            self._driver.delete_target_group(target_group)
            count_orphan(self._pool)

    def _take(self, owner: str, entry: Entry) -> str:
        return self._ledger.orphan(owner, entry.uid, entry.key, entry.listener, entry.target_group)

    def _taken_by_nobody(self, owner: str, entry: Entry) -> bool:
        """The ledger has lost an entry: no script takes a port without one. Asked twice, because ports come and go."""
        for _ in range(2):
            if any(held.id == entry.id for _, entries in owners(self._ledger) for held in entries):
                return False
            if any(lb.name == entry.lb and entry.port in lb.foreign for lb in view(self._ledger).load_balancers):
                return False
            if self._take(owner, entry) != "TAKEN":
                self._run(owner)
                return False
        return True

    def _rebuild(self, found: Difference) -> None:
        """Only on the word of the API server: a snapshot may be late."""
        assert found.entry
        pod = self._services.pods.read(*found.owner.split("/"))
        if pod and pod.uid == found.entry.uid and found.entry.id in published(pod.outputs.endpoints):
            self._distrust()

    def _distrust(self) -> None:
        log.warning("ledger_distrusted", pool=self._pool)
        self._growth.distrust()
        self._services.queue.touch([port_pool_key(self._pool)])
