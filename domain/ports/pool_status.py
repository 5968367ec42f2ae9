"""The status of a PortPool, as people read it with kubectl."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LoadBalancerLine:
    """One load balancer of a pool. `missing` means that AWS does not know it."""

    name: str
    arn: str
    dns_name: str
    allocated: int
    capacity: int
    auto_created: bool
    foreign: int
    missing: bool = False

    @property
    def state(self) -> str:
        if self.missing:
            return "NotFound"
        return "Full" if self.allocated >= self.capacity else "Active"


def pool_status(
    state: str, epoch: str, waiting: int, lines: Iterable[LoadBalancerLine], generation: int, problem: str = ""
) -> dict[str, Any]:
    """`capacity` is what the pool can give now; growth to come is not in it."""
    rows = list(lines)
    return {
        "state": state,
        "epoch": int(epoch or 0),
        "observedGeneration": generation,
        "capacity": sum(line.capacity for line in rows),
        "allocated": sum(line.allocated for line in rows),
        "waiting": waiting,
        "loadBalancers": [_row(line) for line in rows],
        "conditions": [_condition("Valid", not problem, "Invalid" if problem else "Accepted", problem)],
    }


def _row(line: LoadBalancerLine) -> dict[str, Any]:
    return {
        "name": line.name,
        "arn": line.arn,
        "dnsName": line.dns_name,
        "state": line.state,
        "allocated": line.allocated,
        "capacity": line.capacity,
        "autoCreated": line.auto_created,
        "foreignListeners": line.foreign,
    }


def _condition(kind: str, true: bool, reason: str, message: str) -> dict[str, str]:
    return {"type": kind, "status": "True" if true else "False", "reason": reason, "message": message}
