"""Pools of precreated listeners for a Fleet, and what is registered behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.fixtures.aws import Aws
from tests.support.ports.fleet import Fleet

WANT = "7777/UDP@arena"


def existing(fleet: Fleet, aws: Aws, number: int = 0) -> str:
    name = f"mine{number}-{fleet.cluster}"
    return fleet.driver.create_load_balancer(name, aws.parameters, {"made-by": "hand"}).arn


def stocked(fleet: Fleet, aws: Aws, tcp: int = 3, udp: int = 2, **changes: Any) -> str:
    """Create and fill a pool on one existing load balancer, and return its ARN."""
    arn = existing(fleet, aws)
    off = {"enabled": False}
    fleet.pool("arena", precreate={"tcp": tcp, "udp": udp}, loadBalancers=[arn], autoCreate=off, **changes)
    fleet.settle()
    return arn


def targets(fleet: Fleet, arn: str) -> dict[int, list[str]]:
    """The targets that are registered behind each port of a load balancer."""
    return {
        x.port: [f"{t.ip}:{t.port}" for t in fleet.driver.targets(x.target_group_arn) if t.health != "draining"]
        for x in fleet.driver.listeners(arn)
    }


def registered(fleet: Fleet, arn: str) -> dict[int, list[str]]:
    return {port: there for port, there in targets(fleet, arn).items() if there}


def calls(aws: Aws, act: Callable[[], Any]) -> dict[str, int]:
    before = aws.counts()
    act()
    return {a: n - before.get(a, 0) for a, n in aws.counts().items() if n > before.get(a, 0)}
