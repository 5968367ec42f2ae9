"""The sides that an audit compares: what the cloud has, and what the ledger says.

The audit reads the ledger before and after it lists the cloud, and judges an entry only if it was the same both times:
what a run changes meanwhile is no drift.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from domain.port_audit.rebuild import Place, TaggedEntry
from domain.ports.entry import Entry

OwnedEntry = tuple[str, Entry]  # with the owner's namespace/name
Held = Mapping[Place, OwnedEntry]


@dataclass(frozen=True)
class AuditedLoadBalancer:
    """A load balancer as one side has it.

    `created`: it is one of ours; `open`: it gives ports. `foreign` are ports of the range with listeners of others,
    `lost` the tags of ours that it lacks. `capacity` None: there is nothing to compare it with.
    """

    name: str
    arn: str
    created: bool
    open: bool
    foreign: frozenset[int] = frozenset()
    lost: Mapping[str, str] = field(default_factory=dict)
    capacity: int | None = None


@dataclass(frozen=True)
class UnusableLoadBalancer:
    """A load balancer that gives no ports, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class CloudResource:
    """A listener, or a target group (then without `target_group`).

    `tagged` is what its tags say, None for a resource that is not ours. `lone`: it is ours, and nobody can say whose:
    a target group without a listener, precreated or without those tags, or a listener without them.
    """

    arn: str
    place: Place
    tags: Mapping[str, str]
    tagged: TaggedEntry | None = None
    target_group: str = ""
    lone: bool = False


@dataclass(frozen=True)
class CloudSide:
    """What the cloud has.

    `unusable` by ARN. `targets` are those registered (ip:port, draining ones left out) by the ARN of each target group
    that this audit read.
    """

    balancers: Mapping[str, AuditedLoadBalancer]
    listeners: tuple[CloudResource, ...] = ()
    groups: tuple[CloudResource, ...] = ()
    unusable: Mapping[str, UnusableLoadBalancer] = field(default_factory=dict)
    targets: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @cached_property
    def by_arn(self) -> dict[str, CloudResource]:
        """Listeners and target groups by ARN."""
        return {resource.arn: resource for resource in self.listeners + self.groups}

    @cached_property
    def by_place(self) -> dict[Place, CloudResource]:
        """Listeners by load balancer and port."""
        return {listener.place: listener for listener in self.listeners}


@dataclass(frozen=True)
class LedgerSide:
    """The ledger's entries before and after the cloud was listed, its load balancers, and its stock.

    `stock` has the ARNs of the precreated listener and target group of a place, where they were the same both times.
    """

    before: Held
    after: Held
    balancers: Mapping[str, AuditedLoadBalancer]
    stock: Mapping[Place, tuple[str, str]] = field(default_factory=dict)

    @cached_property
    def steady(self) -> Held:
        """The entries that were the same both times."""
        return {place: owned for place, owned in self.after.items() if self.before.get(place) == owned}

    @cached_property
    def arns(self) -> frozenset[str]:
        """Listeners and target groups that the ledger names."""
        entries = [entry for held in (self.before, self.after) for _, entry in held.values()]
        stock = [arn for pair in self.stock.values() for arn in pair]
        return frozenset([*stock, *(arn for entry in entries for arn in (entry.listener, entry.target_group) if arn)])

    def has(self, place: Place) -> bool:
        """Whether the ledger had an entry for the place at either time."""
        return place in self.before or place in self.after
