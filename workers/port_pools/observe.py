"""Reads what a run of a PortPool decides on: its object, its spec, and the pools that share its load balancers."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from domain.kubernetes.names import PORT_POOL_FINALIZER
from domain.port_pools.port_pool import PortPoolSpec
from domain.port_pools.steps import PortPoolFacts
from domain.spec_errors import spec_problem
from events.workqueue import Snapshot
from workers.port_pools.overlap import conflict_of
from workers.port_services import PortServices
from workers.scale_up.pool_config import PoolConfig, decode_config
from workers.stores.ports.pool_ledger import PortPoolLedger


@dataclass(frozen=True)
class PortPoolObservation:
    """`config` is the spec to work with: the declared one, or the last accepted one where that is invalid.

    `problem` is what is wrong with the declared spec, None if nothing is.
    """

    pool: Snapshot
    config: PoolConfig | None = None
    problem: str | None = None

    @property
    def facts(self) -> PortPoolFacts:
        """What the decision depends on."""
        followed = is_followed(self.pool)
        deleting = followed and self.pool.body["deleting"]
        return PortPoolFacts(followed, deleting, self.problem, configured=self.config is not None)


def is_followed(pool: Snapshot) -> bool:
    """Whether the object exists, and its deletion (if any) still waits for our finalizer."""
    return not pool.gone and not (pool.body["deleting"] and PORT_POOL_FINALIZER not in pool.body["finalizers"])


def observe(services: PortServices, name: str, pool: Snapshot) -> PortPoolObservation:
    """Observe one version of the pool."""
    if not is_followed(pool):
        return PortPoolObservation(pool)
    try:
        spec = PortPoolSpec.model_validate(pool.body["spec"])
    except ValidationError as error:
        accepted = decode_config(PortPoolLedger(services.ledger(name)).config())
        return PortPoolObservation(pool, accepted, spec_problem(error))
    conflict = conflict_of(services, pool.body, spec)
    return PortPoolObservation(pool, PoolConfig(pool.uid, pool.body["generation"], spec, conflict))
