"""Run a reconciler for one key: what all tasks of reconcilers share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from berthmaster import routing
from berthmaster.redis.outage import OUTAGE
from domain.outcome import Outcome
from events.workqueue import LeasedKey
from workers.reconcile import Reconciler, new_nonce, reconcile
from workers.tasks.payloads import CheckedTask, PayloadRefused, ReconcileKey, read
from workers.wiring.process import Services, services

log = structlog.get_logger()


@dataclass(frozen=True)
class KeyRuns:
    """The runs of a kind's keys. Its task has them, so that a drain finds them by the task's name."""

    payload: type[ReconcileKey]
    build: Callable[[Services], Reconciler]

    def run(self, asked: ReconcileKey) -> Outcome | None:
        """Run the key that a message names, with the lease and retry policy of the settings."""
        parts = services()
        settings = parts.settings.queue
        return reconcile(
            parts.queue,
            asked.key,
            self.build(parts),
            settings.retry.policy(),
            settings.lease,
            requested=asked.requested,
        )

    def accepts(self, key: str) -> bool:
        """Tell whether the key is valid. A refused one is logged and counted as a payload."""
        try:
            read(self.payload, (key,), {})
        except PayloadRefused:
            return False
        return True


class ReconcilingTask(CheckedTask):
    """A task that reconciles the keys of a kind."""

    keys: KeyRuns


def discard_key(key: object) -> None:
    """End the run of a key that no reconciler accepts: otherwise the key is ready for ever."""
    if not isinstance(key, str) or routing.is_key(key) or key.encode(errors="replace").decode() != key:
        return
    parts = services()
    try:
        taken = parts.queue.take(key, parts.settings.queue.lease, new_nonce())
        if isinstance(taken, LeasedKey) and parts.queue.done(taken, None):
            log.warning("key_discarded", key=key[:300])
    except OUTAGE as error:
        log.warning("key_left_dirty", reason="redis_unavailable", error=str(error))
