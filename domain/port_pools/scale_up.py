"""The limits of a scale-up, and its intent.

A script counts the load balancers to create, under the epoch (rule `oneintent`). Here are its limits.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from domain.port_pools.port_pool import PortPoolSpec


@dataclass(frozen=True)
class ScaleUpLimits:
    """`slots` are those that may be filled; one intent creates at most `per_round`, and `most` exist at a time.

    `capacity` is what each load balancer adds.
    """

    slots: tuple[int, ...]
    per_round: int
    capacity: int
    most: int

    def reached(self, used: Collection[int]) -> bool:
        """Whether a pool that has load balancers in the slots `used` may have no more."""
        return len(used) >= self.most or not set(self.slots) - set(used)


@dataclass(frozen=True)
class Intent:
    """The open scale-up of a pool: create the load balancers of these slots. `id` names it to the closing script."""

    id: str
    epoch: int
    slots: tuple[int, ...]


def scale_up_obstacle(spec: PortPoolSpec, created: int) -> str | None:
    """What keeps a pool that has created so many load balancers from creating another, None if its spec does not."""
    create = spec.auto_create
    if not create.enabled:
        return "creates no load balancers (autoCreate)"
    most = create.max_load_balancers
    return f"has {most} of {most} load balancers (maxLoadBalancers)" if created >= most else None


def scale_up_limits(spec: PortPoolSpec, blocked: Collection[int] = ()) -> ScaleUpLimits:
    """The limits of a pool: no slots when autoCreate is off, and no `blocked` ones, which would give no ports."""
    create = spec.auto_create
    most = create.max_load_balancers if create.enabled else 0
    slots = (slot for slot in range(most) if slot not in blocked)
    return ScaleUpLimits(tuple(slots), create.max_per_round, spec.capacity_of_one, most)
