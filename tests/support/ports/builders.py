"""Builds specs, entries and load balancers from defaults, so that a test names only what it is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from redis import Redis

from domain.port_pools.load_balancer_spec import AutoCreate, LoadBalancerParameters
from domain.port_pools.port_pool import PortPoolSpec
from domain.port_pools.scale_up import ScaleUpLimits
from domain.ports.entry import Entry, EntryState
from tests.support.ports.live_pool import LivePool
from workers.stores.ports.pool_ledger import PoolLoadBalancer

START: Final = 30000
NLB: Final = 50
"""Listeners of a Network Load Balancer."""


def pool_spec(**changes: Any) -> PortPoolSpec:
    """Ports 30000 to 30999 on load balancers of our own, at most three of them."""
    create = AutoCreate(enabled=True, max_load_balancers=3, parameters=LoadBalancerParameters(subnets=("subnet-a",)))
    defaults = {"region": "eu-west-1", "vpc_id": "vpc-a", "start_port": START, "end_port": 30999, "auto_create": create}
    return PortPoolSpec(**(defaults | changes))


def entry(**changes: Any) -> Entry:
    """Port 30000 of lb-0 in pool arena, bound to the pod `uid-of-a` for its 7777/UDP."""
    defaults: dict[str, Any] = {"pool": "arena", "lb": "lb-0", "port": START, "want": "7777/UDP", "uid": "uid-of-a"}
    cloud = {
        "state": EntryState.BOUND,
        "listener": "arn:listener",
        "target_group": "arn:group",
        "target": "10.0.0.1:7777",
    }
    return Entry(**(defaults | cloud | changes))


def load_balancer(number: int = 0, **changes: Any) -> PoolLoadBalancer:
    """`lb-<number>`, created by us in the slot of that number, with room for 50 listeners."""
    name = changes.get("name", f"lb-{number}")
    defaults = {
        "name": name,
        "arn": f"arn:{name}",
        "dns": f"{name}.example",
        "slot": number,
        "position": number,
        "capacity": NLB,
    }
    return PoolLoadBalancer(**(defaults | changes))


def load_balancers(count: int, **changes: Any) -> list[PoolLoadBalancer]:
    return [load_balancer(number, **changes) for number in range(count)]


def limits(most: int = 3, per_round: int = 10, capacity: int = NLB) -> ScaleUpLimits:
    return ScaleUpLimits(tuple(range(most)), per_round, capacity, most)


def active_pool(
    redis: Redis,
    name: str = "arena",
    lbs: Sequence[PoolLoadBalancer] | None = None,
    start: int = START,
    size: int = 1000,
) -> LivePool:
    """A verified, configured ledger, Active; by default with one load balancer."""
    pool = LivePool(redis, name, start, size)
    pool.rebuild()
    pool.configure([load_balancer()] if lbs is None else lbs)
    return pool
