"""The safety net of waiting: every pool is looked at, who fits is woken, and a demand that does not fit asks for a
scale-up. Ports that were retained long enough are given back.
"""

from __future__ import annotations

import structlog

from berthmaster.routing import pod_key, port_pool_key
from workers.port_services import PortServices
from workers.scale_up.request import ask
from workers.stores.ports.ledger import NotReady
from workers.stores.ports.pool_ledger import Growth

log = structlog.get_logger()


def sweep(services: PortServices) -> None:
    """Idempotent; any number may run at once. The pool's own run refreshes the status, or rebuilds the ledger."""
    for pool in services.pool_names.all():
        try:
            wake_and_ask(services, pool)
        except NotReady:
            log.info("ledger_not_ready", pool=pool)
        services.queue.touch([port_pool_key(pool)])


def wake_and_ask(services: PortServices, pool: str) -> None:
    """Raises NotReady."""
    over = services.ledger(pool).expire()
    services.queue.touch([pod_key(*name.split("/")) for name in over], [pool])
    pressure = Growth(services.ledger(pool)).pressure(services.wake_again_after)
    services.queue.touch([pod_key(*name.split("/")) for name in pressure.woken])
    if pressure.short > 0 or pressure.intent_open:
        ask(services, pool, pressure.epoch)
