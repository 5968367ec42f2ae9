"""Edits of a pool's spec, and the passing of time, for tests that run a fleet step by step."""

from __future__ import annotations

from typing import Any

from tests.support.ports.fleet import Fleet
from workers.kube.port_pools import PATH
from workers.scale_up.sweep import sweep


def create(fleet: Fleet, most: int, enabled: bool = True) -> dict[str, Any]:
    """`autoCreate` of a spec."""
    return {"enabled": enabled, "maxLoadBalancers": most, "parameters": {"subnets": list(fleet.network.subnets)}}


def edit(fleet: Fleet, pool: str = "arena", **spec: Any) -> None:
    fleet.api.patch(f"{PATH}/{pool}", {"spec": spec})


def nudge(fleet: Fleet) -> None:
    """Let everything happen that happens by itself in time."""
    for _ in range(3):
        for key in list(fleet.redis.scan_iter("{pp:*}scale-up:*")):
            fleet.redis.delete(key)
        fleet.due()
        sweep(fleet.services)
        fleet.settle()
