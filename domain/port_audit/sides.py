"""The sides that an audit compares: what AWS has, and what the ledger says.

The ledger is read before and after AWS is listed, and an entry is judged only if it was the same both times: what a
run changes meanwhile is no drift.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from domain.port_audit.rebuild import Found, Place
from domain.ports.entry import Entry

Owned = tuple[str, Entry]  # with the owner's namespace/name
Held = Mapping[Place, Owned]


@dataclass(frozen=True)
class Balancer:
    """A load balancer as one side knows it.

    `foreign` are ports of the range with listeners of others, `lost` tags of ours that it should have and has not.
    `capacity` None: there is nothing to compare it with.
    """

    name: str
    arn: str
    created: bool  # by us
    open: bool  # gives ports
    foreign: frozenset[int] = frozenset()
    lost: Mapping[str, str] = field(default_factory=dict)
    capacity: int | None = None


@dataclass(frozen=True)
class Piece:
    """A listener, or a target group (then without `target_group`). `found` is what its tags say, None: not ours."""

    arn: str
    place: Place
    tags: Mapping[str, str]
    found: Found | None = None
    target_group: str = ""
    lone: bool = False  # a precreated target group that no listener forwards to


@dataclass(frozen=True)
class Cloud:
    """What AWS has. `unusable`: ARN of the spec -> why no ports are given on it; `targets` of the groups looked at."""

    balancers: Mapping[str, Balancer]
    listeners: tuple[Piece, ...] = ()
    groups: tuple[Piece, ...] = ()
    unusable: Mapping[str, str] = field(default_factory=dict)
    targets: Mapping[str, frozenset[str]] = field(default_factory=dict)  # ARN -> ip:port, those that drain left out

    @cached_property
    def by_arn(self) -> dict[str, Piece]:
        return {piece.arn: piece for piece in self.listeners + self.groups}

    @cached_property
    def by_place(self) -> dict[Place, Piece]:
        return {piece.place: piece for piece in self.listeners}


@dataclass(frozen=True)
class Books:
    """The ledger: its entries before and after AWS was listed, its load balancers, what was precreated both times."""

    before: Held
    after: Held
    balancers: Mapping[str, Balancer]
    stock: Mapping[Place, tuple[str, str]] = field(default_factory=dict)  # listener and target group

    @cached_property
    def steady(self) -> Held:
        return {place: owned for place, owned in self.after.items() if self.before.get(place) == owned}

    @cached_property
    def arns(self) -> frozenset[str]:
        entries = [entry for held in (self.before, self.after) for _, entry in held.values()]
        stock = [arn for pair in self.stock.values() for arn in pair]
        return frozenset([*stock, *(arn for e in entries for arn in (e.listener, e.target_group) if arn)])

    def has(self, place: Place) -> bool:
        return place in self.before or place in self.after
