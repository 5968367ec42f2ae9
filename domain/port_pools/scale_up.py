"""How many load balancers a pool may ask for, and what its intent is called.

The count itself is made inside one script, under the epoch (rule `oneintent`); here are its limits.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from domain.port_pools.port_pool import PortPoolSpec


@dataclass(frozen=True)
class GrowthLimits:
    """`slots` are the slot numbers that names may be made of; `per_round` is the most of one intent, `most` of all."""

    slots: tuple[int, ...]
    per_round: int
    capacity: int
    most: int

    def reached(self, taken: Collection[int]) -> bool:
        """Whether a pool that has load balancers in the slots `taken` may have no more."""
        return len(taken) >= self.most or not set(self.slots) - set(taken)


@dataclass(frozen=True)
class Intent:
    """The one open wish of a pool: create the load balancers of these slots. `id` names it to who closes it."""

    id: str
    epoch: int
    slots: tuple[int, ...]


def growth_limits(spec: PortPoolSpec, blocked: Collection[int] = ()) -> GrowthLimits:
    """No slots when autoCreate is off, and no `blocked` ones: what is made there would give no ports."""
    create = spec.auto_create
    most = create.max_load_balancers if create.enabled else 0
    slots = (slot for slot in range(most) if slot not in blocked)
    return GrowthLimits(tuple(slots), create.max_per_round, spec.capacity_of_one, most)
