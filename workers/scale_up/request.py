"""Asking for a scale-up: of all that fail at one capacity epoch, one request goes on."""

from __future__ import annotations

from datetime import timedelta

import structlog

from workers.port_services import PortServices
from workers.scale_up.limits import full_grown
from workers.stores.ports.pool_ledger import Growth

log = structlog.get_logger()
UNSENT = timedelta(seconds=2)


def ask(services: PortServices, pool: str, epoch: str) -> bool:
    """SET NX decides; the winner sends the task.

    One that dies before it does is replaced when its key has expired, by the sweep; one that cannot send gives its key
    back, but for a moment: a broker that is away must not cost every pod that fails its own time-out. Nobody asks for a
    pool that may not grow: the sweep does as soon as it may.
    """
    if full_grown(services, pool):
        return False
    growth = Growth(services.ledger(pool))
    token = growth.win(epoch, services.scale_up_lease)
    if token is None:
        return False
    if not services.send_scale_up(pool, epoch, token):
        log.warning("scale_up_unsent", pool=pool, epoch=epoch)
        growth.back_off(epoch, token, UNSENT)
        return False
    log.info("scale_up_requested", pool=pool, epoch=epoch)
    return True
