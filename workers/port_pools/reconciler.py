"""Reconciles one PortPool: keeps its ledger and its load balancers as the spec says, or drains and deletes them."""

from __future__ import annotations

from functools import partial
from typing import assert_never

import structlog

from berthmaster.routing import split_key
from domain.outcome import Outcome
from domain.port_pools.steps import (
    DrainPool,
    ForgetPool,
    MaintainPool,
    PortPoolStep,
    RejectSpec,
    ReleasePool,
    next_step,
)
from events.kube import api
from events.workqueue import Snapshot
from workers.cloud.errors import CloudDenied, CloudInvalid
from workers.kube.errors import translated
from workers.kube.stale_snapshot import as_it_is
from workers.port_pools import actions
from workers.port_pools.observe import PortPoolObservation, observe
from workers.port_pools.pool_run import PortPoolRun
from workers.port_pools.status import publish_refused_write, publish_status
from workers.port_services import PortServices
from workers.run import Run

log = structlog.get_logger()


class PortPoolReconciler:
    """Callable with a Run whose key is a pool's."""

    def __init__(self, services: PortServices) -> None:
        self._services = services

    def __call__(self, run: Run) -> Outcome:
        """Reconcile the port pool of the run's key."""
        with translated(self._services.events, run.key, run.snapshot):
            _, name = split_key(run.key)
            read, act = partial(self._services.pools.read, name), partial(self._reconcile, run, name)
            return as_it_is(f"PortPool {name}", run.snapshot, read, act)

    def _reconcile(self, run: Run, name: str, pool: Snapshot | None) -> Outcome:
        if pool is None:
            return actions.forget(self._services, name)
        observed = observe(self._services, name, pool)  # 1. read the object, its spec and its neighbours
        step = next_step(observed.facts)  # 2. decide: domain, pure
        pool_run = PortPoolRun(self._services, run, name, pool)
        try:
            return self._act(pool_run, step, observed)
        except (CloudDenied, CloudInvalid) as error:  # only a person can mend it
            if not observed.problem:
                publish_status(pool_run, observed.config, trouble=f"{error.call}: {error.reason}")
            raise
        except (api.Denied, api.Invalid):
            if not observed.problem:
                publish_refused_write(pool_run, observed.config)
            raise

    def _act(self, pool_run: PortPoolRun, step: PortPoolStep, observed: PortPoolObservation) -> Outcome:
        """3. act: each step is idempotent. 4. the steps publish the status when it has changed."""
        config = observed.config
        match step:
            case ForgetPool():
                return actions.forget(self._services, pool_run.name)
            case RejectSpec(problem):
                return actions.reject(pool_run, config, problem)
            case ReleasePool():
                return actions.release(pool_run)
            case MaintainPool():
                assert config
                return actions.maintain(pool_run, config)
            case DrainPool():
                assert config
                return actions.drain(pool_run, config)
            case _:
                assert_never(step)
