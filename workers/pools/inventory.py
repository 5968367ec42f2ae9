"""What AWS has of one pool: its load balancers, and everything on them that is ours or a stranger's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from domain.ports.placement import positions
from domain.ports.pool import NLB_LISTENERS, PortPoolSpec
from domain.ports.rebuild import Found, Place
from workers.cloud.driver import Listener, LoadBalancer, LoadBalancerApi, LoadBalancerState, TargetGroup
from workers.cloud.errors import NotFound
from workers.cloud.names import load_balancer_name
from workers.cloud.tagged import belongs_to
from workers.cloud.tags import RETIRING
from workers.ports.stocking import is_stock
from workers.ports.tags import read_tags
from workers.stores.growth import PoolLoadBalancer

NOT_FOUND: Final = "AWS knows no such load balancer"


@dataclass
class Inventory:
    """`listeners` and `groups` are ours, by their tags; `unusable`: ARN of a load balancer -> why it gives no ports."""

    load_balancers: list[PoolLoadBalancer] = field(default_factory=list)
    listeners: list[Found] = field(default_factory=list)
    groups: list[Found] = field(default_factory=list)
    unusable: dict[str, str] = field(default_factory=dict)
    precreated: bool = False

    @property
    def stock(self) -> dict[Place, tuple[str, str]]:
        """Precreated listeners and their target groups, by load balancer and port."""
        return {(lb.name, port): (listener, group) for lb in self.load_balancers for port, listener, group in lb.stock}

    def others_changed(self, known: Iterable[PoolLoadBalancer]) -> bool:
        """Whether listeners of others leave a load balancer another capacity than the ledger has for it.

        Not where listeners are precreated: capacity is what is there of those.
        """
        now = {lb.name: lb.capacity for lb in self.load_balancers if not self.precreated}
        return any(now.get(lb.name, lb.capacity) != lb.capacity for lb in known if not lb.retiring)


class Cartographer:
    """Lists one pool's part of AWS: load balancers in batches, listeners one call a load balancer."""

    def __init__(self, driver: LoadBalancerApi, cluster: str, pool: str, spec: PortPoolSpec) -> None:
        self._driver, self._cluster, self._pool, self._spec = driver, cluster, pool, spec

    def take(self, with_groups: bool = True, known: Iterable[str] = ()) -> Inventory:
        """`known`: ARNs of created load balancers that must not count as gone only because a list lacks them."""
        inventory = Inventory(precreated=self._spec.precreate.total > 0)
        existing = {lb.arn: lb for lb in self._driver.find_load_balancers(arns=self._spec.load_balancers)}
        faults = ((arn, self._fault(existing.get(arn))) for arn in self._spec.load_balancers)
        inventory.unusable = {arn: fault for arn, fault in faults if fault}
        named = [existing[arn] for arn in self._spec.load_balancers if arn not in inventory.unusable]
        created = self._created(known)
        ranks = positions([lb.name for lb in named], [(slot, lb.name) for slot, lb in created])
        for slot, lb in [(-1, lb) for lb in named] + created:
            self._add(inventory, lb, slot, ranks[lb.name])
        if with_groups:
            owned = self._driver.target_groups_owned(self._cluster, self._pool)
            for lb in self._taken_out(owned, inventory):
                self._add(inventory, lb, -1, len(ranks))
            inventory.groups = self._unused(owned, inventory.listeners)
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

    def _created(self, known: Iterable[str]) -> list[tuple[int, LoadBalancer]]:
        """Those that carry our tags and a name made from a slot; a tagged one with another name is not one of ours."""
        owned = {lb.arn: lb for lb in self._driver.find_owned_load_balancers(self._cluster, self._pool)}
        unlisted = [arn for arn in known if arn not in owned]
        owned |= {lb.arn: lb for lb in self._driver.find_load_balancers(arns=unlisted) if self._is_ours(lb)}
        slots = ((self._slot(lb), lb) for lb in owned.values())
        return sorted(((slot, lb) for slot, lb in slots if slot is not None), key=lambda pair: pair[0])

    def _slot(self, lb: LoadBalancer) -> int | None:
        return slot_of(self._cluster, self._pool, lb.name, self._spec.auto_create.parameters.name_prefix)

    def _add(self, inventory: Inventory, lb: LoadBalancer, slot: int, position: int) -> None:
        try:
            listeners = self._driver.listeners(lb.arn)
        except NotFound:
            return
        ours = [listener for listener in listeners if self._is_ours(listener)]
        strangers = tuple(sorted(x.port for x in listeners if not self._is_ours(x)))
        taken_out = slot < 0 and lb.arn not in self._spec.load_balancers
        fault = "" if taken_out else self._fault(lb)
        if fault:
            inventory.unusable[lb.arn] = fault
        retiring = slot >= 0 and RETIRING in lb.tags
        closed = fault or retiring or taken_out or self._spec.blocks(lb.name, lb.arn)
        capacity = 0 if closed else self._capacity(slot, strangers)
        stock = tuple((x.port, x.arn, x.target_group_arn) for x in ours if is_stock(self._spec, x))
        facts = (lb.name, lb.arn, lb.dns_name, slot, position, capacity, strangers)
        entry = PoolLoadBalancer(*facts, stock=stock, retiring=retiring)
        inventory.load_balancers.append(entry)
        found = (read_tags(x.tags, x.arn, x.target_group_arn) for x in ours)
        inventory.listeners += [f for f in found if f and f.entry.lb == lb.name]

    def _is_ours(self, thing: Listener | LoadBalancer) -> bool:
        return belongs_to(thing.tags, self._cluster, self._pool)

    def _capacity(self, slot: int, strangers: tuple[int, ...]) -> int:
        quota = self._spec.listener_quota if slot < 0 and self._spec.listener_quota else NLB_LISTENERS
        quota = min(quota, self._driver.limits().listeners)
        inside = sum(port in self._spec.ports for port in strangers)
        room = max(0, min(quota - len(strangers), len(self._spec.ports) - inside))
        return room - room % self._spec.segment_length

    def _unused(self, owned: list[TargetGroup], listeners: list[Found]) -> list[Found]:
        """Target groups of ours that no listener of ours forwards to."""
        used = {f.entry.target_group for f in listeners}
        found = (read_tags(group.tags, "", group.arn) for group in owned if group.arn not in used)
        return [f for f in found if f]


def slot_of(cluster: str, pool: str, name: str, prefix: str) -> int | None:
    """The slot that a load balancer's name was made from, None for another's name."""
    digits = name.rpartition("-")[2]
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 4:
        return None
    return int(digits) if load_balancer_name(cluster, pool, int(digits), prefix) == name else None
