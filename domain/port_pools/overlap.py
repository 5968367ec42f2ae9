"""Pools that use one load balancer: whether they may, and which of them gives way.

Each pool has a ledger of its own, so that two of them could give one port number of one load balancer to two pods.
AWS would refuse the second listener; a pool whose range overlaps another's there gives no ports at all instead.
Disjoint ranges share the listeners that AWS allows: for each pool those of the other are foreign.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from domain.port_pools.port_pool import PortPoolSpec


@dataclass(frozen=True)
class Neighbour:
    """A pool as others see it. `born` is its creationTimestamp, `created` are ARNs of load balancers that it made."""

    name: str
    born: str
    spec: PortPoolSpec
    created: frozenset[str] = frozenset()

    @property
    def age(self) -> tuple[str, str]:
        """Smaller for an older pool; never the same for two."""
        return self.born, self.name

    @property
    def load_balancers(self) -> frozenset[str]:
        return self.created | frozenset(self.spec.load_balancers)


def conflict(mine: Neighbour, others: Iterable[Neighbour]) -> str | None:
    """Why `mine` must give no new ports, None when it may: the older of two pools is never disturbed by the younger."""
    for other in sorted(others, key=lambda o: o.age):
        shared = min(mine.load_balancers & other.load_balancers, default=None)
        why = difference(mine.spec, other.spec)
        if shared and why and mine.age > other.age:
            return f"PortPool {other.name} uses load balancer {shared}, too: {why}"
    return None


def difference(mine: PortPoolSpec, other: PortPoolSpec) -> str | None:
    """How two pools on one load balancer differ or overlap that must not, None when they do not."""
    if mine.start_port <= other.end_port and other.start_port <= mine.end_port:
        theirs = f"{other.start_port} to {other.end_port}"
        return f"its ports {theirs} overlap with {mine.start_port} to {mine.end_port}"
    pairs = (
        ("listenerQuota", mine.listener_quota, other.listener_quota),
        ("segmentLength", mine.segment_length, other.segment_length),
    )
    return next((f"its {name} is {_said(b)}, not {_said(a)}" for name, a, b in pairs if a != b), None)


def _said(value: int | None) -> str:
    return "unset" if value is None else str(value)
