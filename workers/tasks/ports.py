"""Tasks of pods' ports: one reconcile a hint, the sweep of those that wait, the audit of the cloud."""

from __future__ import annotations

from celery import shared_task

from berthmaster import routing
from berthmaster.kinds import POD
from workers.port_audit.reconciler import audit
from workers.ports.reconciler import PodReconciler
from workers.scale_up.sweep import sweep
from workers.tasks.keys import discard_key, reconcile_key
from workers.tasks.payloads import Nothing, ReconcilePod, takes
from workers.tasks.ticking import once_a_period
from workers.wiring.process import services


@shared_task(name=POD.task)
@takes(ReconcilePod, discard_key)
def reconcile_pod(asked: ReconcilePod) -> None:
    """Give the pod the ports that it asks for, and release those that it no longer asks for."""
    parts = services()
    reconcile_key(parts, asked, PodReconciler(parts.ports))


@shared_task(name=routing.PORTS_SWEEP)
@takes(Nothing)
def sweep_waiting(_: Nothing) -> None:
    """Every 10 seconds: wake waiters that fit, request scale-ups that nobody carries out, refresh pools."""
    parts = services()
    once_a_period(parts.ticks, routing.PORTS_SWEEP, parts.settings.ports.sweep_every, lambda: sweep(parts.ports))


@shared_task(name=routing.PORTS_AUDIT)
@takes(Nothing)
def audit_cloud(_: Nothing) -> None:
    """Every minute: compare AWS with the ledgers."""
    parts = services()
    once_a_period(parts.ticks, routing.PORTS_AUDIT, parts.settings.ports.audit_every, lambda: audit(parts.ports))
