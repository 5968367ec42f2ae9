"""Of two pools the one grows that can."""

from __future__ import annotations

from typing import Any

from tests.fixtures.aws import Aws
from tests.support.fleet import Fleet
from workers.cloud.names import load_balancer_name
from workers.kube.port_pools import PATH
from workers.pools.sweep import sweep


def create(fleet: Fleet, most: int, enabled: bool = True) -> dict[str, Any]:
    return {"enabled": enabled, "maxLoadBalancers": most, "parameters": {"subnets": list(fleet.network.subnets)}}


def edit(fleet: Fleet, pool: str = "arena", **spec: Any) -> None:
    fleet.api.patch(f"{PATH}/{pool}", {"spec": spec})


def nudge(fleet: Fleet) -> None:
    """What happens by itself, in time."""
    for _ in range(3):
        for key in list(fleet.redis.scan_iter("{pp:*}scale-up:*")):
            fleet.redis.delete(key)
        fleet.due()
        sweep(fleet.services)
        fleet.settle()


def test_same_port_grows_the_pool_that_can_where_the_other_has_only_blocked_names_left(fleet: Fleet, aws: Aws) -> None:
    for p in ("arena", "lobby"):
        fleet.pool(p, endPort=30001, autoCreate=create(fleet, 2))
    edit(fleet, lbBlocklist=[load_balancer_name(fleet.cluster, "arena", 1, "bm")])
    fleet.pod("x", "1/UDP@arena", ip="10.0.1.1")
    fleet.settle()
    fleet.pod("y", "1/UDP@lobby", ip="10.0.1.2")
    fleet.settle()
    fleet.pod("z", "1/UDP@lobby", ip="10.0.1.3")
    fleet.settle()
    fleet.delete("y")
    fleet.settle()  # arena has 30001 free, lobby 30000
    fleet.pod("a", "7=7/UDP@arena+lobby", ip="10.0.0.5", same_port_across_pools="true")
    fleet.settle()
    nudge(fleet)
    assert (fleet.state("a"), fleet.shown("a")[2]) == ("Bound", "")
