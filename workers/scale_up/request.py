"""Requests a scale-up: of all requests at one capacity epoch, one goes on."""

from __future__ import annotations

from datetime import timedelta

import structlog

from workers.port_services import PortServices
from workers.scale_up.limits import is_at_limit
from workers.stores.ports.pool_ledger import PortPoolLedger

log = structlog.get_logger()
UNSENT = timedelta(seconds=2)
"""The wait before the next request when the broker took no task."""


def request_scale_up(services: PortServices, pool: str, epoch: str) -> bool:
    """Send the task of a scale-up, if this caller is the first of the epoch. Returns whether it was sent.

    SET NX decides who is first. When that caller dies before it sends, its key expires and the sweep requests again.
    When it cannot send, it gives its key back after a moment: while the broker is away, not every pod that fails must
    wait for its own time-out. Nobody requests for a pool at its limit; the sweep does once the limit is raised.
    """
    if is_at_limit(services, pool):
        return False
    pool_ledger = PortPoolLedger(services.ledger(pool))
    token = pool_ledger.win(epoch, services.scale_up_lease)
    if token is None:
        return False
    if not services.send_scale_up(pool, epoch, token):
        log.warning("scale_up_unsent", pool=pool, epoch=epoch)
        pool_ledger.back_off(epoch, token, UNSENT)
        return False
    log.info("scale_up_requested", pool=pool, epoch=epoch)
    return True
