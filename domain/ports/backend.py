"""What a pool requires of the pods behind its ports: an address of its family and, where it says so, health."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from domain.port_pools.port_pool import PortPoolSpec, PublishWhen

HEALTHY: Final = "healthy"
MAX_INTERVAL: Final = 60  # seconds


@dataclass(frozen=True)
class BackendRequirement:
    """`healthy`: ports are published only once their targets are; `interval`: seconds between AWS's health checks."""

    family: str = "ipv4"
    healthy: bool = False
    interval: int = 10

    @classmethod
    def of(cls, spec: PortPoolSpec) -> BackendRequirement:
        """Return what a pool's spec requires."""
        healthy = spec.publish_when is PublishWhen.HEALTHY
        return cls(spec.target_address_type, healthy, spec.health_check.interval_seconds)

    def next_check(self, checks: int) -> timedelta:
        """How long to wait before the next look at a target's health.

        The first wait is AWS's own interval, and each one is twice the wait before it, up to a bound.
        """
        doubled = self.interval * 2 ** min(checks, 8)
        return timedelta(seconds=min(doubled, max(MAX_INTERVAL, self.interval)))


def family_name(family: str) -> str:
    """The family as people write it."""
    return {"ipv4": "IPv4", "ipv6": "IPv6"}[family]
