"""Sweeps all pools: wakes waiting pods that fit, requests a scale-up for those that do not, ends retention.

Waiting pods depend on it whenever a wake-up or a request was lost.
"""

from __future__ import annotations

import structlog

from berthmaster.routing import pod_key, port_pool_key
from workers.port_services import PortServices
from workers.scale_up.request import request_scale_up
from workers.stores.ports.ledger import NotReady
from workers.stores.ports.pool_ledger import PortPoolLedger

log = structlog.get_logger()


def sweep(services: PortServices) -> None:
    """Sweep every pool, and mark it dirty: its own run refreshes the status, or rebuilds the ledger.

    Idempotent; any number of sweeps may run at once.
    """
    for pool in services.pool_names.all():
        try:
            wake_and_request(services, pool)
        except NotReady:
            log.info("ledger_not_ready", pool=pool)
        services.queue.touch([port_pool_key(pool)])


def wake_and_request(services: PortServices, pool: str) -> None:
    """Release retained ports whose time is over, wake who fits, and request a scale-up for the rest.

    Raises NotReady.
    """
    expired = services.ledger(pool).expire()
    services.queue.touch([pod_key(*name.split("/")) for name in expired], [pool])
    pressure = PortPoolLedger(services.ledger(pool)).pressure(services.wake_again_after)
    services.queue.touch([pod_key(*name.split("/")) for name in pressure.woken])
    if pressure.short > 0 or pressure.intent_open:
        request_scale_up(services, pool, pressure.epoch)
