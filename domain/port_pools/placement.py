"""Decides in which order an allocation tries the load balancers with room.

The ledger keeps two orders of the load balancers with room: by position (list order) and by ports in use. A policy
chooses one of them, so that an allocation never reads full load balancers and its cost does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from domain.port_pools.port_pool import LoadBalancerPolicy


class Ordering(StrEnum):
    """The ledger's index of candidates."""

    POSITION = "order"
    USED = "room"
    SHUFFLED = "shuffled"


def ordering(policy: LoadBalancerPolicy) -> Ordering:
    """The index that a policy uses."""
    return {
        LoadBalancerPolicy.IN_ORDER: Ordering.POSITION,
        LoadBalancerPolicy.UNIFORM: Ordering.USED,
        LoadBalancerPolicy.RANDOM: Ordering.SHUFFLED,
    }[policy]


def positions(existing: Sequence[str], created: Sequence[tuple[int, str]]) -> dict[str, int]:
    """Positions by load balancer: existing ones in the order of the spec, then created ones by slot."""
    in_spec = {name: position for position, name in enumerate(existing)}
    return in_spec | {name: len(existing) + slot for slot, name in created}
