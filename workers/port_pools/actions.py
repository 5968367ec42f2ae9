"""Carries out the steps of a PortPool's run, one function a step."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Final

import structlog

from domain.outcome import Outcome, Settled, Wait
from events.kube.api import NotFound
from workers.port_pools.configure import configure
from workers.port_pools.deletion import remove_pool
from workers.port_pools.pool_run import PortPoolRun
from workers.port_pools.precreate import Precreation
from workers.port_pools.precreated_cleanup import remove_former_listeners
from workers.port_pools.rebuild import rebuild_ledger
from workers.port_pools.removal import Removal
from workers.port_pools.status import publish_status
from workers.port_services import PortServices
from workers.scale_up.pool_config import PoolConfig

log = structlog.get_logger()
DRAINING: Final = timedelta(seconds=5)
"""The wait of a run whose pool cannot be removed yet."""


def forget(services: PortServices, name: str) -> Outcome:
    """Take the pool off the list of pools."""
    services.pool_names.remove(name)
    return Settled()


def reject(pool_run: PortPoolRun, accepted: PoolConfig | None, problem: str) -> Outcome:
    """Say what is wrong with the spec. Pods keep the ports that the accepted spec gave them."""
    log.warning("pool_invalid", pool=pool_run.name, reason=problem)
    publish_status(pool_run, accepted, invalid=problem)
    return Settled()


def maintain(pool_run: PortPoolRun, config: PoolConfig) -> Outcome:
    """Rebuild the ledger if it was lost, configure it, precreate listeners, remove idle load balancers."""
    pool_run.services.pool_names.add(pool_run.name)
    pool_run.add_finalizer()
    _prepare(pool_run, config)
    outcome = Precreation(pool_run, config.spec).run()
    publish_status(pool_run, config)
    if Removal(pool_run, config).run():
        publish_status(pool_run, config)
    return outcome


def drain(pool_run: PortPoolRun, config: PoolConfig) -> Outcome:
    """Remove what is ours once no pod holds a port. Pods keep their ports until they end or ask for fewer."""
    pool_run.services.pool_names.add(pool_run.name)
    _prepare(pool_run, config)
    if obstacle := remove_pool(pool_run, pool_run.driver(config), config.spec):
        publish_status(pool_run, config, left=obstacle)
        return Wait(DRAINING, obstacle)
    return release(pool_run)


def release(pool_run: PortPoolRun) -> Outcome:
    """Remove the finalizer, and forget the pool."""
    with suppress(NotFound):  # the object is gone, and its event on the way
        pool_run.remove_finalizer()
    pool_run.services.shown.forget(pool_run.ledger.prefix)
    return forget(pool_run.services, pool_run.name)


def _prepare(pool_run: PortPoolRun, config: PoolConfig) -> None:
    inventory = rebuild_ledger(pool_run.services, pool_run.run, pool_run.name, config)
    configure(pool_run, config, inventory)
    if config.spec.precreate.total:
        remove_former_listeners(pool_run.ledger, pool_run.driver(config), config.spec)
