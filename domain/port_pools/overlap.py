"""Decides whether pools may share a load balancer, and which of them gives way.

Each pool has a ledger of its own, so two pools could give one port of one load balancer to two pods, and the cloud
would refuse the second listener. So a pool whose range overlaps an older pool's range there gives no ports at all.
Pools with disjoint ranges share the listeners that the load balancer may have: to each, those of the other are foreign.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from domain.port_pools.port_pool import PortPoolSpec


@dataclass(frozen=True)
class Neighbour:
    """A pool as others see it. `born` is its creationTimestamp, `created` are the ARNs of its own load balancers."""

    name: str
    born: str
    spec: PortPoolSpec
    created: frozenset[str] = frozenset()

    @property
    def age(self) -> tuple[str, str]:
        """An order of pools, the oldest first. Never the same for two."""
        return self.born, self.name

    @property
    def load_balancers(self) -> frozenset[str]:
        """ARNs of all load balancers of the pool."""
        return self.created | frozenset(self.spec.load_balancers)


def conflict(mine: Neighbour, others: Iterable[Neighbour]) -> str | None:
    """Why `mine` must give no new ports, None when it may: a younger pool never disturbs an older one."""
    for other in sorted(others, key=lambda pool: pool.age):
        shared = min(mine.load_balancers & other.load_balancers, default=None)
        why = difference(mine.spec, other.spec)
        if shared and why and mine.age > other.age:
            return f"PortPool {other.name} uses load balancer {shared}, too: {why}"
    return None


def difference(mine: PortPoolSpec, other: PortPoolSpec) -> str | None:
    """What forbids two pools to share a load balancer, or None."""
    if mine.start_port <= other.end_port and other.start_port <= mine.end_port:
        theirs = f"{other.start_port} to {other.end_port}"
        return f"its ports {theirs} overlap with {mine.start_port} to {mine.end_port}"
    pairs = (
        ("listenerQuota", mine.listener_quota, other.listener_quota),
        ("segmentLength", mine.segment_length, other.segment_length),
    )
    return next((f"its {name} is {_text(b)}, not {_text(a)}" for name, a, b in pairs if a != b), None)


def _text(value: int | None) -> str:
    return "unset" if value is None else str(value)
