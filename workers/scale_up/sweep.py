"""Sweeps all pools: wakes waiting pods that fit, requests a scale-up for those that do not, ends retention.

Waiting pods depend on it whenever a wake-up or a request was lost.
"""

from __future__ import annotations

import structlog

from berthmaster.redis.outage import OUTAGE
from berthmaster.routing import pod_key, port_pool_key
from workers.port_services import PortServices
from workers.scale_up.request import request_scale_up
from workers.stores.ports.ledger import NotReady
from workers.stores.ports.pool_ledger import PortPoolLedger
from workers.stores.ticks import STEP, Keep, unkept

log = structlog.get_logger()


def sweep(services: PortServices, keep: Keep = unkept) -> None:
    """Sweep every pool, and mark it dirty: its own run refreshes the status, or rebuilds the ledger.

    Idempotent; any number of sweeps may run at once. Raises StaleToken.
    """
    for pool in services.pool_names.all():
        keep(STEP)
        try:
            wake_and_request(services, pool)
        except NotReady:
            log.info("ledger_not_ready", pool=pool)
        except OUTAGE:
            raise
        except Exception:  # a ledger that is broken keeps no other pool from its sweep
            log.exception("pool_not_swept", pool=pool)
        services.queue.touch([port_pool_key(pool)], slow=True)


def wake_and_request(services: PortServices, pool: str) -> None:
    """Release retained ports whose time is over, wake who fits, and request a scale-up for the rest.

    A failure whose run died before it wrote the event is written here. Raises NotReady.
    """
    expired = services.ledger(pool).expire()
    services.queue.touch([pod_key(*name.split("/")) for name in expired], [pool], slow=True)
    pressure = PortPoolLedger(services.ledger(pool)).pressure(services.wake_again_after)
    services.queue.touch([pod_key(*name.split("/")) for name in pressure.woken])
    if pressure.short > 0 or pressure.intent_open:
        request_scale_up(services, pool, pressure.epoch)
    services.journal.port_failures(services.ledger(pool))
