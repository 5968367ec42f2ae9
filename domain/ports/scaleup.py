"""How many load balancers a pool may ask for, and what its intent is called.

The count itself is made inside one script, under the epoch (protocols.md, 'oneintent'); here are its limits.
"""

from __future__ import annotations

from dataclasses import dataclass

from domain.ports.pool import PortPoolSpec


@dataclass(frozen=True)
class GrowthLimits:
    """`slots` are the slot numbers that names may be made of; `per_round` is the most of one intent."""

    slots: tuple[int, ...]
    per_round: int
    capacity: int


@dataclass(frozen=True)
class Intent:
    """The one open wish of a pool: create the load balancers of these slots. `id` names it to who closes it."""

    id: str
    epoch: int
    slots: tuple[int, ...]


def growth_limits(spec: PortPoolSpec) -> GrowthLimits:
    """No slots when autoCreate is off."""
    create = spec.auto_create
    slots = range(create.max_load_balancers) if create.enabled else ()
    return GrowthLimits(tuple(slots), create.max_per_round, spec.capacity_of_one)
