"""Which load balancers of ours may go, and in which order."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Protocol, TypeVar


class Standing(Protocol):
    """A load balancer as the ledger has it; `slot` is -1 for one that we did not create."""

    @property
    def slot(self) -> int: ...
    @property
    def gives(self) -> bool: ...
    @property
    def used(self) -> int: ...
    @property
    def retiring(self) -> bool: ...
    @property
    def empty_for(self) -> timedelta: ...


T = TypeVar("T", bound=Standing)


def idle(standing: Iterable[T], delay: timedelta, demand: int) -> list[T]:
    """Highest slot first: low ones are filled first. One that gives ports stays while somebody waits for any."""
    found = (lb for lb in standing if lb.slot >= 0 and not lb.used and not lb.retiring and lb.empty_for >= delay)
    return sorted((lb for lb in found if not (demand and lb.gives)), key=lambda lb: -lb.slot)
