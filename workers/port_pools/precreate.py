"""Precreates the pool's listeners, a few a run, so that changes of the pool need not wait.

Resources that exist already are adopted by their names, so the next run continues the work of a run that died. The
ledger can give a listener's port as soon as the listener is in stock.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import structlog

from berthmaster.routing import pod_key, port_pool_key
from domain.outcome import Outcome, Settled, Wait
from domain.port_pools.port_pool import PortPoolSpec
from domain.ports.precreate import creation_order
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
from workers.port_pools.pool_run import PortPoolRun
from workers.ports.listeners.precreate import ListenerStock
from workers.scale_up.request import request_scale_up
from workers.stores.ports.precreated import Gap, Stock
from workers.stores.ports.view import view

log = structlog.get_logger()
MOST: Final = 10
"""Listeners that one run makes."""
AGAIN: Final = timedelta(seconds=1)
FAILED: Final = timedelta(seconds=30)


class Precreation:
    """The precreated listeners that one run of a pool makes."""

    def __init__(self, pool_run: PortPoolRun, spec: PortPoolSpec) -> None:
        self._services, self._run, self._pool, self._spec = pool_run.services, pool_run.run, pool_run.name, spec
        self._ledger, self._pool_ledger = pool_run.ledger, pool_run.pool_ledger
        self._stock = Stock(self._ledger)

    def run(self) -> Outcome:
        """Make a few listeners. Settled: nothing is missing, or another run of the pool will make the rest."""
        gaps = self._stock.gaps() if self._spec.precreate.total else []
        if not gaps:
            return Settled()
        priority = Priority.GROW if view(self._ledger).waiting > 0 else Priority.REPAIR
        driver = self._services.driver(self._spec.region).on_behalf_of(self._run.key, priority, self._run.keep)
        precreator = ListenerStock(driver, self._services.cluster, self._pool, self._spec)
        places = [(gap, port) for gap in gaps for port in list(creation_order(self._spec, gap.ports))[: gap.missing]]
        try:
            for gap, port in places[:MOST]:
                self._precreate(precreator, gap, port)
        except OverBudget as wait:
            return Wait(wait.retry_after or AGAIN, f"waiting for the {wait.provider} call budget")
        except (CloudDenied, CloudInvalid):
            raise
        except CloudError as error:
            log.warning("filling_failed", pool=self._pool, reason=str(error))
            return Wait(FAILED, f"{error.call}: {error.code}")
        if len(places) > MOST:
            self._services.queue.touch([port_pool_key(self._pool)])
        else:
            self._request_scale_up()
        return Settled()

    def _request_scale_up(self) -> None:
        """All listeners exist, so what still does not fit needs more load balancers."""
        pressure = self._pool_ledger.pressure(self._services.wake_again_after)
        self._services.queue.touch([pod_key(*name.split("/")) for name in pressure.woken])
        if pressure.short > 0:
            request_scale_up(self._services, self._pool, pressure.epoch)

    def _precreate(self, precreator: ListenerStock, gap: Gap, port: int) -> None:
        try:
            arns = precreator.create(gap.lb, gap.arn, port)
        except (PortTaken, CloudNotFound, QuotaExceeded) as error:
            self._give_up(gap, error)
            raise
        woken = self._stock.put(f"{gap.lb}:{port}", *arns)
        log.info("listener_precreated", pool=self._pool, lb=gap.lb, port=port)
        self._services.queue.touch([pod_key(*name.split("/")) for name in woken])

    def _give_up(self, gap: Gap, error: CloudError) -> None:
        """Expect no more listeners there when they cannot come.

        After a foreign listener, or a load balancer that is gone, the pool lists its load balancers again.
        """
        if isinstance(error, (ListenersFull, PortTaken, CloudNotFound)):
            self._stock.stop(gap.lb)
        if isinstance(error, (PortTaken, CloudNotFound)):
            self._pool_ledger.ask_recheck()
            self._services.queue.touch([port_pool_key(self._pool)])
