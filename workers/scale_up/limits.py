"""The limits of a pool's scale-up, and whether it has reached them."""

from __future__ import annotations

from domain.port_pools.port_pool import PortPoolSpec
from domain.port_pools.scale_up import ScaleUpLimits, scale_up_limits
from workers.cloud.names import load_balancer_name
from workers.port_services import PortServices
from workers.scale_up.pool_config import decode_config
from workers.stores.ports.pool_ledger import PortPoolLedger


def name_of(services: PortServices, pool: str, spec: PortPoolSpec, slot: int) -> str:
    """The name of the load balancer of a slot."""
    return load_balancer_name(services.cluster, pool, slot, spec.auto_create.parameters.name_prefix)


def limits(services: PortServices, pool: str, spec: PortPoolSpec) -> ScaleUpLimits:
    """The limits, without slots whose load balancers are on the pool's blocklist."""
    slots = range(spec.auto_create.max_load_balancers if spec.lb_blocklist else 0)
    return scale_up_limits(spec, {slot for slot in slots if spec.blocks(name_of(services, pool, spec, slot))})


def is_at_limit(services: PortServices, pool: str) -> bool:
    """Whether a scale-up would create nothing. An open intent must be closed whatever the limit."""
    stored, intent_open, slots = PortPoolLedger(services.ledger(pool)).extent()
    config = decode_config(stored)
    return bool(config and not intent_open and limits(services, pool, config.spec).reached(slots))
