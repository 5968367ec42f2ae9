"""Lists what the cloud has of one pool: its load balancers, their listeners, and our target groups."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from domain.port_audit.rebuild import Place, TaggedEntry
from domain.port_audit.sides import CloudResource
from domain.port_pools.placement import positions
from domain.port_pools.port_pool import PortPoolSpec
from workers.cloud.driver import Listener, LoadBalancer, LoadBalancerApi, LoadBalancerState, TargetGroup
from workers.cloud.errors import CloudNotFound
from workers.cloud.names import load_balancer_name
from workers.cloud.providers import is_load_balancer, load_balancer_name_in
from workers.cloud.tags import PRECREATED, RETIRING, belongs_to
from workers.ports.listeners.precreate import is_stock
from workers.ports.listeners.tags import read_tags
from workers.stores.ports.pool_ledger import PoolLoadBalancer

NOT_FOUND: Final = "there is no such load balancer"


@dataclass
class Inventory:
    """`listeners` are all on the load balancers, `target_groups` ours.

    `unusable`: ARN of a load balancer -> why it gives no ports. `tags` are by load balancer's name.
    """

    load_balancers: list[PoolLoadBalancer] = field(default_factory=list)
    listeners: list[CloudResource] = field(default_factory=list)
    target_groups: list[CloudResource] = field(default_factory=list)
    unusable: dict[str, str] = field(default_factory=dict)
    tags: dict[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def stock(self) -> dict[Place, tuple[str, str]]:
        """Precreated listeners and their target groups, by load balancer and port."""
        return {(lb.name, port): (listener, group) for lb in self.load_balancers for port, listener, group in lb.stock}

    @property
    def tagged_listeners(self) -> list[TaggedEntry]:
        """What the tags of our listeners say."""
        return [listener.tagged for listener in self.listeners if listener.tagged]

    @property
    def tagged_groups(self) -> list[TaggedEntry]:
        """What the tags of our target groups say, without those that a listener of ours uses."""
        used = {tagged.entry.target_group for tagged in self.tagged_listeners}
        return [group.tagged for group in self.target_groups if group.tagged and group.arn not in used]


class InventoryReader:
    """Lists one pool's part of the cloud: load balancers in batches, listeners with one call a load balancer.

    `recorded`: ARNs that the ledger has as ours. A list may lack them, and people may have removed their tags.
    """

    def __init__(
        self, driver: LoadBalancerApi, cluster: str, pool: str, spec: PortPoolSpec, recorded: Collection[str] = ()
    ) -> None:
        self._driver, self._cluster, self._pool, self._spec = driver, cluster, pool, spec
        self._recorded = frozenset(recorded)

    def read(self, with_groups: bool = True) -> Inventory:
        """Read the inventory. Without target groups it costs fewer calls, and leaves out former load balancers."""
        inventory = Inventory()
        existing = {lb.arn: lb for lb in self._driver.find_load_balancers(arns=self._spec.load_balancers)}
        faults = ((arn, self._fault(existing.get(arn))) for arn in self._spec.load_balancers)
        inventory.unusable = {arn: fault for arn, fault in faults if fault}
        named = [existing[arn] for arn in self._spec.load_balancers if arn not in inventory.unusable]
        groups = self._driver.target_groups_owned(self._cluster, self._pool) if with_groups else []
        created = self._created(groups)
        ranks = positions([lb.name for lb in named], [(slot, lb.name) for slot, lb in created])
        ours = {lb.arn for _, lb in created}  # a created load balancer that the spec names counts once, in its slot
        for slot, lb in [(-1, lb) for lb in named if lb.arn not in ours] + created:
            self._add(inventory, lb, slot, ranks[lb.name])
        for lb in self._former_load_balancers(groups, inventory):
            self._add(inventory, lb, -1, len(ranks))
        inventory.target_groups += resources_of(groups)
        return inventory

    def _fault(self, lb: LoadBalancer | None) -> str | None:
        """Why it gives no ports, None when it does."""
        if lb is None:
            return NOT_FOUND
        if lb.kind != "network":
            return f"it is a load balancer of type {lb.kind}, not network"
        if lb.state is LoadBalancerState.FAILED:
            return "its setup failed"
        elsewhere = bool(lb.vpc_id) and lb.vpc_id != self._spec.vpc_id
        return f"it is in {lb.vpc_id}, not in {self._spec.vpc_id}" if elsewhere else None

    def _former_load_balancers(self, groups: list[TargetGroup], inventory: Inventory) -> list[LoadBalancer]:
        """Load balancers that have left the pool, and still have a listener of ours."""
        arns = {arn for group in groups for arn in group.load_balancer_arns}
        former = arns - {lb.arn for lb in inventory.load_balancers}
        return self._driver.find_load_balancers(arns=sorted(former)) if former else []

    def _created(self, groups: Iterable[TargetGroup]) -> list[tuple[int, LoadBalancer]]:
        """Load balancers with a name made from a slot, and our tags or a target group of ours: people remove tags."""
        owned = {lb.arn: lb for lb in self._driver.find_owned_load_balancers(self._cluster, self._pool)}
        arns = self._recorded | {arn for group in groups for arn in group.load_balancer_arns}
        unlisted = (arn for arn in arns - owned.keys() if is_load_balancer(arn))
        ours = sorted(arn for arn in unlisted if self._slot(load_balancer_name_in(arn)) is not None)
        owned |= {lb.arn: lb for lb in self._driver.find_load_balancers(arns=ours)}
        slots = ((self._slot(lb.name), lb) for lb in owned.values())
        return sorted(((slot, lb) for slot, lb in slots if slot is not None), key=lambda pair: pair[0])

    def _slot(self, name: str) -> int | None:
        return slot_of(self._cluster, self._pool, name, self._spec.auto_create.parameters.name_prefix)

    def _add(self, inventory: Inventory, lb: LoadBalancer, slot: int, position: int) -> None:
        try:
            listeners = self._driver.listeners(lb.arn)
        except CloudNotFound:
            return
        foreign = tuple(sorted(listener.port for listener in listeners if not self._is_ours(listener)))
        former = slot < 0 and lb.arn not in self._spec.load_balancers
        fault = None if former else self._fault(lb)
        if fault:
            inventory.unusable[lb.arn] = fault
        retiring = slot >= 0 and RETIRING in lb.tags
        closed = fault or retiring or former or self._spec.blocks(lb.name, lb.arn)
        capacity = 0 if closed else self._capacity(slot, foreign)
        precreated = [listener for listener in listeners if self._is_stock(listener)]
        stock = tuple((listener.port, listener.arn, listener.target_group_arn) for listener in precreated)
        facts = (lb.name, lb.arn, lb.dns_name, slot, position, capacity, foreign)
        inventory.load_balancers.append(PoolLoadBalancer(*facts, stock=stock, retiring=retiring))
        inventory.tags[lb.name] = lb.tags
        inventory.listeners += [self._resource(lb.name, listener) for listener in listeners]

    def _resource(self, lb: str, listener: Listener) -> CloudResource:
        """Its place is where it stands, whatever its tags say: people can edit tags."""
        ours = belongs_to(listener.tags, self._cluster, self._pool)
        tagged = read_tags(listener.tags, listener.arn, listener.target_group_arn) if ours else None
        if tagged:
            entry = replace(tagged.entry, lb=lb, port=listener.port)
            tagged = replace(tagged, entry=entry, shared=self._is_stock(listener))
        lone = ours and not tagged and not self._is_stock(listener)
        return CloudResource(listener.arn, (lb, listener.port), listener.tags, tagged, listener.target_group_arn, lone)

    def _is_ours(self, listener: Listener) -> bool:
        return listener.arn in self._recorded or belongs_to(listener.tags, self._cluster, self._pool)

    def _is_stock(self, listener: Listener) -> bool:
        return self._is_ours(listener) and is_stock(self._spec, listener, listener.arn in self._recorded)

    def _capacity(self, slot: int, foreign: tuple[int, ...]) -> int:
        quota = self._spec.listeners_of_one if slot < 0 else self._spec.provider.listeners
        quota = min(quota, self._driver.limits().listeners)
        inside = sum(port in self._spec.ports for port in foreign)
        room = max(0, min(quota - len(foreign), len(self._spec.ports) - inside))
        return room - room % self._spec.segment_length


def resources_of(groups: Iterable[TargetGroup]) -> list[CloudResource]:
    """The target groups as the audit compares them."""
    return [_target_group(group) for group in groups]


def _target_group(group: TargetGroup) -> CloudResource:
    tagged = read_tags(group.tags, "", group.arn)
    place = (tagged.entry.lb, tagged.entry.port) if tagged else ("", 0)
    lone = (PRECREATED in group.tags or not tagged) and not group.load_balancer_arns
    return CloudResource(group.arn, place, group.tags, tagged, lone=lone)


def slot_of(cluster: str, pool: str, name: str, prefix: str) -> int | None:
    """The slot that a load balancer's name was made from, None for the name of another."""
    digits = name.rpartition("-")[2]
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 4:
        return None
    return int(digits) if load_balancer_name(cluster, pool, int(digits), prefix) == name else None
