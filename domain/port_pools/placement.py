"""Decides in which order an allocation tries the load balancers with room.

The ledger keeps two indexes of the load balancers with room: by position (list order) and by ports in use. A policy
reads one of them, so that an allocation never reads full load balancers and its cost does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol, TypeVar

from domain.port_pools.port_pool import LoadBalancerPolicy


class LedgerIndex(StrEnum):
    """A sorted set of the ledger, by the end of its key."""

    POSITION = "order"
    USED = "room"


class Rankable(Protocol):
    """What the indexes know of a load balancer."""

    @property
    def name(self) -> str: ...  # noqa: D102 - see the class

    @property
    def position(self) -> int: ...  # noqa: D102 - see the class

    @property
    def used(self) -> int: ...  # noqa: D102 - see the class


Ranked = TypeVar("Ranked", bound=Rankable)


@dataclass(frozen=True)
class Ordering:
    """An order of load balancers: the script reads it as data, and `ranked` gives the same order to people.

    `descending` reads the index from its end. `random_first` begins with a random load balancer.
    """

    index: LedgerIndex
    descending: bool = False
    random_first: bool = False

    @property
    def data(self) -> tuple[str, bool, bool]:
        """The order as the script `allocate` takes it."""
        return (self.index.value, self.descending, self.random_first)

    def ranked(self, load_balancers: Iterable[Ranked]) -> list[Ranked]:
        """Sort as the index does: equal ones by name. With `random_first`, any one goes before all others."""
        return sorted(load_balancers, key=self._score, reverse=self.descending)

    def _score(self, lb: Rankable) -> tuple[int, bytes]:
        return (lb.position if self.index is LedgerIndex.POSITION else lb.used, lb.name.encode())


ORDERINGS: Final = {
    LoadBalancerPolicy.IN_ORDER: Ordering(LedgerIndex.POSITION),
    LoadBalancerPolicy.UNIFORM: Ordering(LedgerIndex.USED),
    LoadBalancerPolicy.RANDOM: Ordering(LedgerIndex.POSITION, random_first=True),
}


def ordering(policy: LoadBalancerPolicy) -> Ordering:
    """The order of a policy."""
    return ORDERINGS[policy]


def positions(existing: Sequence[str], created: Sequence[tuple[int, str]]) -> dict[str, int]:
    """Positions by load balancer: existing ones in the order of the spec, then created ones by slot."""
    in_spec = {name: position for position, name in enumerate(existing)}
    return in_spec | {name: len(existing) + slot for slot, name in created}
