"""In which order the load balancers with room are tried.

The ledger keeps two orders of the load balancers that have room: by position (list order) and by ports in use. A policy
is the choice of one of them, so that a full load balancer is never looked at and the cost does not grow with their
number.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from domain.port_pools.port_pool import Policy


class Ordering(StrEnum):
    """The ledger's index to take candidates from."""

    POSITION = "order"
    USED = "room"
    SHUFFLED = "shuffled"


def ordering(policy: Policy) -> Ordering:
    return {Policy.IN_ORDER: Ordering.POSITION, Policy.UNIFORM: Ordering.USED, Policy.RANDOM: Ordering.SHUFFLED}[policy]


def positions(existing: Sequence[str], created: Sequence[tuple[int, str]]) -> dict[str, int]:
    """Load balancer -> position: existing ones in the order of the spec, then created ones by slot number."""
    first = {name: n for n, name in enumerate(existing)}
    return first | {name: len(existing) + slot for slot, name in created}
