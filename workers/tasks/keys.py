"""Run a reconciler for one key: what all tasks of reconcilers share."""

from __future__ import annotations

import secrets

import structlog

from berthmaster import routing
from berthmaster.redis.outage import OUTAGE
from domain.outcome import Outcome
from events.workqueue import LeasedKey
from workers.reconcile import Reconciler, reconcile
from workers.tasks.payloads import ReconcileKey
from workers.wiring.process import Services, services

log = structlog.get_logger()


def reconcile_key(parts: Services, asked: ReconcileKey, reconciler: Reconciler) -> Outcome | None:
    """Run the reconciler with the lease and retry policy of the settings."""
    if asked.requested:
        parts.queue.touch([asked.key])
    settings = parts.settings.queue
    return reconcile(parts.queue, asked.key, reconciler, settings.retry.policy(), settings.lease)


def discard_key(key: object) -> None:
    """End the run of a key that no reconciler accepts: otherwise the key is queued, and its hint sent, for ever."""
    if not isinstance(key, str) or routing.is_key(key) or key.encode(errors="replace").decode() != key:
        return
    parts = services()
    try:
        taken = parts.queue.take(key, parts.settings.queue.lease, secrets.token_hex(4))
        if isinstance(taken, LeasedKey) and parts.queue.done(taken, None):
            log.warning("key_discarded", key=key[:300])
    except OUTAGE as error:
        log.warning("key_left_dirty", reason="redis_unavailable", error=str(error))
