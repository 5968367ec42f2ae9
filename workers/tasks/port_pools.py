"""Tasks of port pools: reconcile one, carry out its scale-up."""

from __future__ import annotations

from celery import shared_task

from berthmaster import routing
from berthmaster.kinds import PORT_POOL
from workers.port_pools.reconciler import PortPoolReconciler
from workers.scale_up.intent import scale_up
from workers.tasks.keys import KeyRuns, ReconcilingTask, discard_key
from workers.tasks.payloads import ReconcilePool, ScaleUp, takes
from workers.wiring.process import services

PORT_POOLS = KeyRuns(ReconcilePool, lambda parts: PortPoolReconciler(parts.ports))


@shared_task(name=PORT_POOL.task, base=ReconcilingTask, keys=PORT_POOLS)
@takes(ReconcilePool, discard_key)
def reconcile_pool(asked: ReconcilePool) -> None:
    """Validates and configures the pool, rebuilds its ledger where Redis was lost, shows its status."""
    PORT_POOLS.run(asked)


@shared_task(name=routing.POOLS_SCALE_UP)
@takes(ScaleUp)
def scale_up_pool(asked: ScaleUp) -> None:
    """Creates the load balancers of the pool's open intent. A duplicate or a late one finds nothing to do."""
    scale_up(services().ports, asked.pool, asked.epoch, asked.token)
