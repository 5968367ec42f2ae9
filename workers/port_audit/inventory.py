"""What AWS has of one pool: its load balancers, and everything on them that is ours or a stranger's."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from domain.port_audit.rebuild import Found, Place
from domain.port_audit.sides import Piece
from domain.port_pools.placement import positions
from domain.port_pools.port_pool import NLB_LISTENERS, PortPoolSpec
from workers.cloud.driver import Listener, LoadBalancer, LoadBalancerApi, LoadBalancerState, TargetGroup
from workers.cloud.errors import CloudNotFound
from workers.cloud.names import load_balancer_name
from workers.cloud.tags import PRECREATED, RETIRING, belongs_to
from workers.ports.listeners.precreate import is_stock
from workers.ports.listeners.tags import read_tags
from workers.stores.ports.pool_ledger import PoolLoadBalancer

NOT_FOUND: Final = "AWS knows no such load balancer"


@dataclass
class Inventory:
    """`listeners` and `groups` (those without listener) are ours, by their tags; `unusable`: ARN of a load balancer ->
    why it gives no ports; `pieces`: every listener, and every target group of ours; `tags`: by load balancer's name.
    """

    load_balancers: list[PoolLoadBalancer] = field(default_factory=list)
    listeners: list[Found] = field(default_factory=list)
    groups: list[Found] = field(default_factory=list)
    unusable: dict[str, str] = field(default_factory=dict)
    pieces: list[Piece] = field(default_factory=list)
    tags: dict[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def stock(self) -> dict[Place, tuple[str, str]]:
        """Precreated listeners and their target groups, by load balancer and port."""
        return {(lb.name, port): (listener, group) for lb in self.load_balancers for port, listener, group in lb.stock}


class Cartographer:
    """Lists one pool's part of AWS: load balancers in batches, listeners one call a load balancer.

    `known`: ARNs of what the ledger knows as ours: a list may lack it, and its tags may have been removed by hand.
    """

    def __init__(
        self, driver: LoadBalancerApi, cluster: str, pool: str, spec: PortPoolSpec, known: Collection[str] = ()
    ) -> None:
        self._driver, self._cluster, self._pool, self._spec, self._known = driver, cluster, pool, spec, known

    def take(self, with_groups: bool = True) -> Inventory:
        inventory = Inventory()
        existing = {lb.arn: lb for lb in self._driver.find_load_balancers(arns=self._spec.load_balancers)}
        faults = ((arn, self._fault(existing.get(arn))) for arn in self._spec.load_balancers)
        inventory.unusable = {arn: fault for arn, fault in faults if fault}
        named = [existing[arn] for arn in self._spec.load_balancers if arn not in inventory.unusable]
        created = self._created()
        ranks = positions([lb.name for lb in named], [(slot, lb.name) for slot, lb in created])
        ours = {lb.arn for _, lb in created}  # one of these that is named as well is there once, in its slot
        for slot, lb in [(-1, lb) for lb in named if lb.arn not in ours] + created:
            self._add(inventory, lb, slot, ranks[lb.name])
        if with_groups:
            owned = self._driver.target_groups_owned(self._cluster, self._pool)
            for lb in self._taken_out(owned, inventory):
                self._add(inventory, lb, -1, len(ranks))
            self._add_groups(inventory, owned)
        return inventory

    def _fault(self, lb: LoadBalancer | None) -> str:
        """Why ports cannot be given on it, '' when they can."""
        if lb is None:
            return NOT_FOUND
        if lb.kind != "network":
            return f"it is a load balancer of type {lb.kind}, not network"
        if lb.state is LoadBalancerState.FAILED:
            return "AWS failed to set it up"
        return f"it is in {lb.vpc_id}, not in {self._spec.vpc_id}" if self._elsewhere(lb) else ""

    def _elsewhere(self, lb: LoadBalancer) -> bool:
        return bool(lb.vpc_id) and lb.vpc_id != self._spec.vpc_id

    def _taken_out(self, groups: list[TargetGroup], inventory: Inventory) -> list[LoadBalancer]:
        """Load balancers that are not in the pool any more, on which something of ours is left."""
        arns = {arn for group in groups for arn in group.load_balancer_arns}
        known = {lb.arn for lb in inventory.load_balancers}
        return self._driver.find_load_balancers(arns=sorted(arns - known)) if arns - known else []

    def _created(self) -> list[tuple[int, LoadBalancer]]:
        """Those that carry our tags and a name made from a slot; a tagged one with another name is not one of ours."""
        owned = {lb.arn: lb for lb in self._driver.find_owned_load_balancers(self._cluster, self._pool)}
        unlisted = sorted(arn for arn in self._known if ":loadbalancer/" in arn and arn not in owned)
        owned |= {lb.arn: lb for lb in self._driver.find_load_balancers(arns=unlisted)}
        slots = ((self._slot(lb), lb) for lb in owned.values())
        return sorted(((slot, lb) for slot, lb in slots if slot is not None), key=lambda pair: pair[0])

    def _slot(self, lb: LoadBalancer) -> int | None:
        return slot_of(self._cluster, self._pool, lb.name, self._spec.auto_create.parameters.name_prefix)

    def _add(self, inventory: Inventory, lb: LoadBalancer, slot: int, position: int) -> None:
        try:
            listeners = self._driver.listeners(lb.arn)
        except CloudNotFound:
            return
        strangers = tuple(sorted(x.port for x in listeners if not self._is_ours(x)))
        taken_out = slot < 0 and lb.arn not in self._spec.load_balancers
        fault = "" if taken_out else self._fault(lb)
        if fault:
            inventory.unusable[lb.arn] = fault
        retiring = slot >= 0 and RETIRING in lb.tags
        closed = fault or retiring or taken_out or self._spec.blocks(lb.name, lb.arn)
        capacity = 0 if closed else self._capacity(slot, strangers)
        stock = tuple((x.port, x.arn, x.target_group_arn) for x in listeners if self._is_stock(x))
        facts = (lb.name, lb.arn, lb.dns_name, slot, position, capacity, strangers)
        entry = PoolLoadBalancer(*facts, stock=stock, retiring=retiring)
        inventory.load_balancers.append(entry)
        inventory.tags[lb.name] = lb.tags
        pieces = [self._piece(lb.name, listener) for listener in listeners]
        inventory.pieces += pieces
        inventory.listeners += [piece.found for piece in pieces if piece.found]

    def _piece(self, lb: str, listener: Listener) -> Piece:
        """Its place is where it is: a tag can be edited by hand."""
        tagged = belongs_to(listener.tags, self._cluster, self._pool)
        found = read_tags(listener.tags, listener.arn, listener.target_group_arn) if tagged else None
        if found:
            place = replace(found.entry, lb=lb, port=listener.port)
            found = replace(found, entry=place, shared=self._is_stock(listener))
        return Piece(listener.arn, (lb, listener.port), listener.tags, found, listener.target_group_arn)

    def _is_ours(self, listener: Listener) -> bool:
        return listener.arn in self._known or belongs_to(listener.tags, self._cluster, self._pool)

    def _is_stock(self, listener: Listener) -> bool:
        return self._is_ours(listener) and is_stock(self._spec, listener, listener.arn in self._known)

    def _capacity(self, slot: int, strangers: tuple[int, ...]) -> int:
        quota = self._spec.listener_quota if slot < 0 and self._spec.listener_quota else NLB_LISTENERS
        quota = min(quota, self._driver.limits().listeners)
        inside = sum(port in self._spec.ports for port in strangers)
        room = max(0, min(quota - len(strangers), len(self._spec.ports) - inside))
        return room - room % self._spec.segment_length

    def _add_groups(self, inventory: Inventory, owned: list[TargetGroup]) -> None:
        used = {f.entry.target_group for f in inventory.listeners}
        for group in owned:
            piece = piece_of(group)
            inventory.pieces.append(piece)
            if piece.found and group.arn not in used:
                inventory.groups.append(piece.found)


def piece_of(group: TargetGroup) -> Piece:
    found = read_tags(group.tags, "", group.arn)
    place = (found.entry.lb, found.entry.port) if found else ("", 0)
    lone = PRECREATED in group.tags and not group.load_balancer_arns
    return Piece(group.arn, place, group.tags, found, lone=lone)


def slot_of(cluster: str, pool: str, name: str, prefix: str) -> int | None:
    """The slot that a load balancer's name was made from, None for another's name."""
    digits = name.rpartition("-")[2]
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 4:
        return None
    return int(digits) if load_balancer_name(cluster, pool, int(digits), prefix) == name else None
