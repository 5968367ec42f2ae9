"""Decides which load balancers of ours are removed, and in which order."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Protocol, TypeVar


class RemovableLoadBalancer(Protocol):
    """A load balancer as the ledger has it; `slot` is -1 for one that we did not create."""

    @property
    def slot(self) -> int:
        """The slot number, -1 for a load balancer that we did not create."""
        ...

    @property
    def gives(self) -> bool:
        """Whether it gives new ports."""
        ...

    @property
    def used(self) -> int:
        """How many of its ports are in use."""
        ...

    @property
    def retiring(self) -> bool:
        """Whether its removal has begun."""
        ...

    @property
    def empty_for(self) -> timedelta:
        """How long it has been without a used port."""
        ...


T = TypeVar("T", bound=RemovableLoadBalancer)


def idle_load_balancers(lbs: Iterable[T], delay: timedelta, demand: int) -> list[T]:
    """The load balancers to remove, highest slot first because low slots are filled first.

    One that gives ports stays while any pod waits for a port (`demand`).
    """
    empty = (lb for lb in lbs if lb.slot >= 0 and not lb.used and not lb.retiring and lb.empty_for >= delay)
    return sorted((lb for lb in empty if not (demand and lb.gives)), key=lambda lb: -lb.slot)
