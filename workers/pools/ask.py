"""Asking for a scale-up: of all that fail at one capacity epoch, one request goes on."""

from __future__ import annotations

import structlog

from workers.services import PortServices
from workers.stores.growth import Growth

log = structlog.get_logger()


def ask(services: PortServices, pool: str, epoch: str) -> bool:
    """SET NX decides; the winner sends the task.

    One that dies before it does is replaced when its key has expired, by the sweep.
    """
    token = Growth(services.ledger(pool)).win(epoch, services.win_lease)
    if token is None:
        return False
    log.info("scale_up_requested", pool=pool, epoch=epoch)
    services.send_scale_up(pool, epoch, token)
    return True
