"""Fills load balancers with the pool's precreated listeners, a few a run, so that changes of the pool need not wait.

What exists is found again by its name, so a run that died is continued by the next one. Each listener can be given as
soon as it is in stock.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import structlog

from berthmaster.routing import pod_key, port_pool_key
from domain.outcome import Outcome, Settled, Wait
from domain.port_pools.port_pool import PortPoolSpec
from domain.ports.precreate import in_turns
from workers.cloud.call_budget import OverBudget
from workers.cloud.errors import (
    CloudDenied,
    CloudError,
    CloudInvalid,
    CloudNotFound,
    ListenersFull,
    PortTaken,
    QuotaExceeded,
)
from workers.cloud.priority import Priority
from workers.port_services import PortServices
from workers.ports.listeners.precreate import Stocking
from workers.run import Run
from workers.scale_up.request import ask
from workers.stores.ports.pool_ledger import Growth
from workers.stores.ports.precreated import Gap, Stock
from workers.stores.ports.view import view

log = structlog.get_logger()
MOST: Final = 10
"""Listeners that one run makes."""
AGAIN: Final = timedelta(seconds=1)
FAILED: Final = timedelta(seconds=30)


class Filling:
    def __init__(self, services: PortServices, run: Run, pool: str, spec: PortPoolSpec) -> None:
        self._services, self._run, self._pool, self._spec = services, run, pool, spec
        self._ledger = services.ledger(pool)
        self._stock = Stock(self._ledger)

    def some(self) -> Outcome:
        """Settled when nothing is missing, or when another run of the pool was asked for to go on."""
        gaps = self._stock.gaps() if self._spec.precreate.total else []
        if not gaps:
            return Settled()
        waited_for = view(self._ledger).waiting > 0
        driver = self._services.driver(self._spec.region).on_behalf_of(
            self._run.key, Priority.GROW if waited_for else Priority.REPAIR, self._run.keep
        )
        stocking = Stocking(driver, self._services.cluster, self._pool, self._spec)
        places = [(gap, port) for gap in gaps for port in list(in_turns(self._spec, gap.ports))[: gap.missing]]
        try:
            for gap, port in places[:MOST]:
                self._fill(stocking, gap, port)
        except OverBudget as wait:
            return Wait(wait.retry_after or AGAIN, "waiting for the AWS call budget")
        except (CloudDenied, CloudInvalid):
            raise
        except CloudError as error:
            return self._failed(error)
        if len(places) > MOST:
            self._services.queue.touch([port_pool_key(self._pool)])
        else:
            self._ask_again()
        return Settled()

    def _ask_again(self) -> None:
        """All is filled, and what still does not fit needs more load balancers."""
        pressure = Growth(self._ledger).pressure(self._services.forgotten)
        self._services.queue.touch([pod_key(*name.split("/")) for name in pressure.woken])
        if pressure.short > 0:
            ask(self._services, self._pool, pressure.epoch)

    def _fill(self, stocking: Stocking, gap: Gap, port: int) -> None:
        try:
            made = stocking.make(gap.lb, gap.arn, port)
        except (PortTaken, CloudNotFound, QuotaExceeded) as error:
            self._stop(gap, error)
            raise
        woken = self._stock.put(f"{gap.lb}:{port}", *made)
        log.info("listener_precreated", pool=self._pool, lb=gap.lb, port=port)
        self._services.queue.touch([pod_key(*name.split("/")) for name in woken])

    def _stop(self, gap: Gap, error: CloudError) -> None:
        """What cannot come is not waited for. A stranger, or a load balancer that is gone: the pool looks again."""
        if isinstance(error, (ListenersFull, PortTaken, CloudNotFound)):
            self._stock.stop(gap.lb)
        if isinstance(error, (PortTaken, CloudNotFound)):
            Growth(self._ledger).ask_recheck()
            self._services.queue.touch([port_pool_key(self._pool)])

    def _failed(self, error: CloudError) -> Outcome:
        reason = f"AWS {error.action}: {error.code}"
        log.warning("filling_failed", pool=self._pool, reason=str(error))
        return Wait(FAILED, reason)
