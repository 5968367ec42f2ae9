"""The worker's application on a cloud without latency: the tasks of `workers.tasks` with another driver behind them.

The address of the cloud is in BENCH_CLOUD.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from typing import Final

from celery import shared_task

from berthmaster import routing
from tests.support.ports.shared_cloud import connect
from workers.app import TASKS, create_app
from workers.port_pools.reconciler import PortPoolReconciler
from workers.port_services import PortServices
from workers.ports.reconciler import PodReconciler
from workers.scale_up.intent import scale_up
from workers.scale_up.sweep import sweep
from workers.stores.buckets import RedisBuckets
from workers.tasks.keys import KeyRuns, ReconcilingTask
from workers.tasks.payloads import Nothing, ReconcilePod, ReconcilePool, ScaleUp, takes
from workers.tasks.ticking import once_a_period
from workers.wiring.process import Services, services

OWN: Final = ("workers.tasks.ports", "workers.tasks.port_pools")
"""Modules whose tasks stand below, with another driver."""
app = create_app(tasks=(*(name for name in TASKS if name not in OWN), "tests.bench.memory_worker", "tests.bench.empty"))


@lru_cache(maxsize=1)
def ports() -> PortServices:
    parts = services()
    driver = connect(os.environ["BENCH_CLOUD"], RedisBuckets(parts.redis, "aws", "memory", parts.settings.aws.rates))
    return replace(parts.ports, driver=lambda _region: driver)


PODS = KeyRuns(ReconcilePod, lambda _parts: PodReconciler(ports()))
PORT_POOLS = KeyRuns(ReconcilePool, lambda _parts: PortPoolReconciler(ports()))


@shared_task(name=routing.PORTS_RECONCILE, base=ReconcilingTask, keys=PODS)
@takes(ReconcilePod)
def reconcile_pod(asked: ReconcilePod) -> None:
    PODS.run(asked)


@shared_task(name=routing.POOLS_RECONCILE, base=ReconcilingTask, keys=PORT_POOLS)
@takes(ReconcilePool)
def reconcile_pool(asked: ReconcilePool) -> None:
    PORT_POOLS.run(asked)


@shared_task(name=routing.POOLS_SCALE_UP)
@takes(ScaleUp)
def scale_up_pool(asked: ScaleUp) -> None:
    scale_up(ports(), asked.pool, asked.epoch, asked.token)


@shared_task(name=routing.PORTS_SWEEP)
@takes(Nothing)
def sweep_waiting(_: Nothing) -> None:
    parts: Services = services()
    once_a_period(parts.ticks, routing.PORTS_SWEEP, parts.settings.ports.sweep_every, lambda keep: sweep(ports(), keep))


@shared_task(name=routing.PORTS_AUDIT)
@takes(Nothing)
def audit_cloud(_: Nothing) -> None:
    """Nobody changes this cloud but we."""
