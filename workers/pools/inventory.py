"""What AWS has of one pool: its load balancers, and everything on them that is ours or a stranger's."""

from __future__ import annotations

from dataclasses import dataclass, field

from domain.ports.placement import positions
from domain.ports.pool import NLB_LISTENERS, PortPoolSpec
from domain.ports.rebuild import Found
from workers.cloud.driver import Listener, LoadBalancer, LoadBalancerApi
from workers.cloud.errors import NotFound
from workers.cloud.names import load_balancer_name
from workers.cloud.tags import CLUSTER, POOL, RETIRING
from workers.ports.tags import read_tags
from workers.stores.growth import PoolLoadBalancer


@dataclass
class Inventory:
    """`listeners` and `groups` are ours, by their tags; `missing` are ARNs of the spec that AWS does not know."""

    load_balancers: list[PoolLoadBalancer] = field(default_factory=list)
    listeners: list[Found] = field(default_factory=list)
    groups: list[Found] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


class Cartographer:
    """Lists one pool's part of AWS: load balancers in batches, listeners one call a load balancer."""

    def __init__(self, driver: LoadBalancerApi, cluster: str, pool: str, spec: PortPoolSpec) -> None:
        self._driver, self._cluster, self._pool, self._spec = driver, cluster, pool, spec

    def take(self, with_groups: bool = True) -> Inventory:
        inventory = Inventory()
        existing = {lb.arn: lb for lb in self._driver.find_load_balancers(arns=self._spec.load_balancers)}
        inventory.missing = [arn for arn in self._spec.load_balancers if arn not in existing]
        named = [existing[arn] for arn in self._spec.load_balancers if arn in existing]
        created = self._created()
        ranks = positions([lb.name for lb in named], [(slot, lb.name) for slot, lb in created])
        for slot, lb in [(-1, lb) for lb in named] + created:
            self._add(inventory, lb, slot, ranks[lb.name])
        if with_groups:
            inventory.groups = self._groups(inventory.listeners)
        return inventory

    def _created(self) -> list[tuple[int, LoadBalancer]]:
        """Those that carry our tags and a name made from a slot; a tagged one with another name is not one of ours."""
        owned = self._driver.find_owned_load_balancers(self._cluster, self._pool)
        slots = ((slot_of(self._cluster, self._pool, lb.name), lb) for lb in owned)
        return sorted(((slot, lb) for slot, lb in slots if slot is not None), key=lambda pair: pair[0])

    def _add(self, inventory: Inventory, lb: LoadBalancer, slot: int, position: int) -> None:
        try:
            listeners = self._driver.listeners(lb.arn)
        except NotFound:
            return
        ours = [listener for listener in listeners if self._is_ours(listener)]
        strangers = tuple(sorted(x.port for x in listeners if not self._is_ours(x)))
        capacity = 0 if RETIRING in lb.tags else self._capacity(slot, strangers)
        entry = PoolLoadBalancer(lb.name, lb.arn, lb.dns_name, slot, position, capacity, strangers)
        inventory.load_balancers.append(entry)
        found = (read_tags(x.tags, x.arn, x.target_group_arn) for x in ours)
        inventory.listeners += [f for f in found if f and f.entry.lb == lb.name]

    def _is_ours(self, listener: Listener) -> bool:
        return listener.tags.get(CLUSTER) == self._cluster and listener.tags.get(POOL) == self._pool

    def _capacity(self, slot: int, strangers: tuple[int, ...]) -> int:
        quota = self._spec.listener_quota if slot < 0 and self._spec.listener_quota else NLB_LISTENERS
        quota = min(quota, self._driver.limits().listeners)
        inside = sum(self._spec.start_port <= port <= self._spec.end_port for port in strangers)
        return max(0, min(quota - len(strangers), self._spec.range_size - inside))

    def _groups(self, listeners: list[Found]) -> list[Found]:
        """Target groups of ours that no listener of ours forwards to."""
        used = {f.entry.target_group for f in listeners}
        owned = self._driver.target_groups_owned(self._cluster, self._pool)
        found = (read_tags(group.tags, "", group.arn) for group in owned if group.arn not in used)
        return [f for f in found if f]


def slot_of(cluster: str, pool: str, name: str) -> int | None:
    """The slot that a load balancer's name was made from, None for another's name."""
    digits = name.rpartition("-")[2]
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 4:
        return None
    return int(digits) if load_balancer_name(cluster, pool, int(digits)) == name else None
