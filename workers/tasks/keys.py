"""What every task that reconciles one key does around its reconciler."""

from __future__ import annotations

from domain.outcome import Outcome
from workers.bootstrap import Services
from workers.reconcile import Reconciler, reconcile
from workers.tasks.payloads import ReconcileKey


def reconcile_key(services: Services, asked: ReconcileKey, reconciler: Reconciler) -> Outcome | None:
    """With the lease and retry policy of the settings."""
    if asked.requested:
        services.queue.touch([asked.key])
    settings = services.settings.queue
    return reconcile(services.queue, asked.key, reconciler, settings.retry.policy(), settings.lease)
