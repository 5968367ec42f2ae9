"""Repairs one difference. Each repair is safe to repeat and touches only what is ours.

A run of the pod, under its lease, takes every decision about a pod's port.
"""

from __future__ import annotations

import contextlib
from typing import assert_never

import structlog

from berthmaster.errors import TerminalError, TransientError
from berthmaster.routing import pod_key, port_pool_key
from domain.port_audit.difference import Difference, Remedy
from domain.port_audit.plan import Create, Delete, Update
from domain.ports.endpoints import published_ids
from domain.ports.entry import Entry
from domain.ports.target import address_of
from workers.cloud.call_budget import OverBudget
from workers.cloud.errors import Busy, CloudNotFound
from workers.port_audit.observe import AuditObservation
from workers.port_services import PortServices
from workers.ports.listeners.comparison import ask_to_compare
from workers.scale_up.request import request_scale_up
from workers.stores.ports.pool_ledger import PortPoolLedger
from workers.stores.ports.precreated import Stock
from workers.stores.ports.view import entries_of_owner, owners, view
from workers.telemetry.port_metrics import count_orphan

log = structlog.get_logger()


class Repair:
    """One pass over one pool."""

    def __init__(self, services: PortServices, pool: str, observed: AuditObservation) -> None:
        self._services, self._pool, self._driver, self._slots = services, pool, observed.driver, observed.slots
        self._ledger = services.ledger(pool)
        self._pool_ledger = PortPoolLedger(self._ledger)

    def apply(self, difference: Difference) -> str | None:
        """Repair it. Returns why it stays, None when that is done or on its way.

        Raises OverBudget: the next pass tries again.
        """
        if difference.remedy is Remedy.NONE:
            return str(Remedy.NONE)
        try:
            self._act(difference)
        except OverBudget:
            raise
        except (TransientError, TerminalError) as error:
            place = {"lb": difference.lb, "port": difference.port}
            log.warning("drift_stays", pool=self._pool, kind=difference.kind, **place, error=str(error))
            return str(error)
        return None

    def _act(self, difference: Difference) -> None:
        match difference.remedy:
            case Remedy.NONE:
                pass
            case Remedy.RETAG | Remedy.COMPARE | Remedy.RECHECK | Remedy.RUN as remedy:
                self._update(difference, remedy)
            case Remedy.REBIND | Remedy.RESTOCK | Remedy.ADOPT | Remedy.REBUILD as remedy:
                self._create(difference, remedy)
            case Remedy.DEREGISTER | Remedy.REMOVE | Remedy.DISCARD | Remedy.CLOSE as remedy:
                self._delete(difference, remedy)
            case _:
                assert_never(difference.remedy)

    def _update(self, difference: Difference, remedy: Update) -> None:
        match remedy:
            case Remedy.RETAG:
                self._retag(difference)
            case Remedy.COMPARE:
                ask_to_compare(self._services, self._pool, f"{difference.lb}:{difference.port}")
            case Remedy.RECHECK:
                self._recheck()
            case Remedy.RUN:
                self._run(difference.owner)
            case _:
                assert_never(remedy)

    def _create(self, difference: Difference, remedy: Create) -> None:
        match remedy:
            case Remedy.REBIND:
                self._rebind(difference)
            case Remedy.RESTOCK:
                self._restock(difference)
            case Remedy.ADOPT:
                self._adopt(difference)
            case Remedy.REBUILD:
                self._rebuild(difference)
            case _:
                assert_never(remedy)

    def _delete(self, difference: Difference, remedy: Delete) -> None:
        match remedy:
            case Remedy.DEREGISTER:
                self._deregister(difference)
            case Remedy.REMOVE:
                self._remove(difference)
            case Remedy.DISCARD:
                self._discard(difference.arn)
            case Remedy.CLOSE:
                self._close(difference)
            case _:
                assert_never(remedy)

    def _run(self, owner: str) -> None:
        self._services.queue.touch([pod_key(*owner.split("/"))], [self._pool], slow=True)

    def _recheck(self) -> None:
        self._pool_ledger.ask_recheck()
        self._services.queue.touch([port_pool_key(self._pool)], slow=True)

    def _adopt(self, difference: Difference) -> None:
        if epoch := self._pool_ledger.adopt(self._slots[difference.lb]):
            request_scale_up(self._services, self._pool, epoch)

    def _retag(self, difference: Difference) -> None:
        """Read the entry again first: the port may have another owner by now, who needs other tags."""
        if difference.entry and not self._is_recorded(difference.owner, difference.entry):
            return
        try:
            self._driver.tag([difference.arn], difference.tags)
        except CloudNotFound:
            log.info("untagged_is_gone", pool=self._pool, arn=difference.arn)

    def _is_recorded(self, owner: str, entry: Entry) -> bool:
        return entry in entries_of_owner(self._ledger, owner)

    def _rebind(self, difference: Difference) -> None:
        assert difference.entry
        if self._pool_ledger.missing(difference.owner, difference.entry):
            self._run(difference.owner)

    def _deregister(self, difference: Difference) -> None:
        """The port has no owner. A pod that gets it meanwhile, and registers that very address, compares again."""
        if difference.entry and not self._is_recorded(difference.owner, difference.entry):
            return
        self._driver.deregister(difference.arn, [address_of(difference.target)])
        ask_to_compare(self._services, self._pool, f"{difference.lb}:{difference.port}")

    def _restock(self, difference: Difference) -> None:
        """The run of the owner makes the listener again, or that of the pool where nobody has the port."""
        key = f"{difference.lb}:{difference.port}"
        if Stock(self._ledger).lost(key, difference.arn):
            if difference.entry and self._pool_ledger.missing(difference.owner, difference.entry):
                self._run(difference.owner)
            self._services.queue.touch([port_pool_key(self._pool)], slow=True)

    def _remove(self, difference: Difference) -> None:
        """Record the port as releasing first: a run of the owner that the tag names removes the listener."""
        entry = difference.entry
        assert entry
        count_orphan(self._pool)
        if (answer := self._record_orphan(difference.owner, entry)) == "OK":
            self._run(difference.owner)
        elif answer == "TAKEN" and self._taken_by_nobody(difference.owner, entry):
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

    def _close(self, difference: Difference) -> None:
        """Read the ledger again first: the port may have an owner by now, whose run takes the listener for its own."""
        place = (difference.pool, difference.lb, difference.port)
        held = (entry for _, entries in owners(self._ledger) for entry in entries)
        stocked, _ = Stock(self._ledger).find(f"{difference.lb}:{difference.port}")
        if stocked != difference.arn and not any(entry.id == place for entry in held):
            self._driver.delete_listener(difference.arn)
            count_orphan(self._pool)

    def _record_orphan(self, owner: str, entry: Entry) -> str:
        return self._ledger.orphan(owner, entry.uid, entry.key, entry.listener, entry.target_group)

    def _taken_by_nobody(self, owner: str, entry: Entry) -> bool:
        """Whether the ledger has lost an entry: no script takes a port without one.

        Checks twice, because ports come and go.
        """
        for _ in range(2):
            if any(held.id == entry.id for _, entries in owners(self._ledger) for held in entries):
                return False
            if any(lb.name == entry.lb and entry.port in lb.foreign for lb in view(self._ledger).load_balancers):
                return False
            if self._record_orphan(owner, entry) != "TAKEN":
                self._run(owner)
                return False
        return True

    def _rebuild(self, difference: Difference) -> None:
        """Ask the API server first: a snapshot may be late."""
        assert difference.entry
        pod = self._services.pods.read(*difference.owner.split("/"))
        if pod and pod.uid == difference.entry.uid and difference.entry.id in published_ids(pod.outputs.endpoints):
            self._distrust()

    def _distrust(self) -> None:
        log.warning("ledger_distrusted", pool=self._pool)
        self._pool_ledger.distrust()
        self._services.queue.touch([port_pool_key(self._pool)], slow=True)
