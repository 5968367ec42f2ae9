"""Tasks of pods' ports: one reconcile a hint, the sweep of those that wait, the audit of the cloud."""

from __future__ import annotations

from celery import shared_task

from berthmaster import routing
from berthmaster.kinds import POD
from workers.port_audit.reconciler import audit
from workers.ports.reconciler import PodReconciler
from workers.scale_up.sweep import sweep
from workers.tasks.keys import KeyRuns, ReconcilingTask, discard_key
from workers.tasks.payloads import Nothing, ReconcilePod, takes
from workers.tasks.ticking import once_a_period
from workers.wiring.process import services

PODS = KeyRuns(ReconcilePod, lambda parts: PodReconciler(parts.ports))


@shared_task(name=POD.task, base=ReconcilingTask, keys=PODS)
@takes(ReconcilePod, discard_key)
def reconcile_pod(asked: ReconcilePod) -> None:
    """Give the pod the ports that it asks for, and release those that it no longer asks for."""
    PODS.run(asked)


@shared_task(name=routing.PORTS_SWEEP)
@takes(Nothing)
def sweep_waiting(_: Nothing) -> None:
    """Every 10 seconds: wake waiters that fit, request scale-ups that nobody carries out, refresh pools."""
    parts = services()
    period = parts.settings.ports.sweep_every
    once_a_period(parts.ticks, routing.PORTS_SWEEP, period, lambda keep: sweep(parts.ports, keep))


@shared_task(name=routing.PORTS_AUDIT)
@takes(Nothing)
def audit_cloud(_: Nothing) -> None:
    """Every minute: compare AWS with the ledgers."""
    parts = services()
    period = parts.settings.ports.audit_every
    once_a_period(parts.ticks, routing.PORTS_AUDIT, period, lambda keep: audit(parts.ports, keep))
