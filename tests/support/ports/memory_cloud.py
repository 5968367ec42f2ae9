"""A cloud of load balancers in the memory of one process: no latency, no limits of calls, no faults.

It is for measuring what our own parts cost. It keeps the rules of LoadBalancerApi and passes the contract tests that
the driver of AWS passes; tests of behaviour use the strict AWS, which also keeps AWS's rules.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from ipaddress import ip_address
from itertools import count
from typing import Any, Final, TypeVar

from domain.port_pools.load_balancer_spec import LoadBalancerParameters
from domain.port_pools.providers import MOST_LISTENERS
from domain.ports.target import Address
from workers.cloud.driver import (
    GroupSettings,
    Limits,
    Listener,
    LoadBalancer,
    LoadBalancerState,
    RegisteredTarget,
    TargetGroup,
)
from workers.cloud.errors import (
    Busy,
    CloudInvalid,
    CloudNotFound,
    ForeignName,
    ListenersFull,
    LoadBalancerGone,
    PortTaken,
)
from workers.cloud.priority import Priority
from workers.cloud.tags import belongs_to, same_owner

CALL_TIME: Final = timedelta(seconds=1)
LIMITS: Final = Limits(1_000_000, MOST_LISTENERS, 1_000_000)
Thing = TypeVar("Thing", LoadBalancer, TargetGroup)
Tags = Mapping[str, str]


@dataclass
class World:
    """The resources by ARN, and indices of them. An ARN is never used again."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    numbers: count[int] = field(default_factory=lambda: count(1))
    balancers: dict[str, LoadBalancer] = field(default_factory=dict)
    groups: dict[str, TargetGroup] = field(default_factory=dict)
    listeners: dict[str, Listener] = field(default_factory=dict)
    ports: dict[str, dict[int, str]] = field(default_factory=dict)
    targets: dict[str, set[tuple[str, int]]] = field(default_factory=dict)
    balancer_names: dict[str, str] = field(default_factory=dict)
    group_names: dict[str, str] = field(default_factory=dict)
    uses: dict[str, int] = field(default_factory=dict)
    """How many listeners forward to a target group."""

    def arn(self, kind: str, name: str) -> str:
        return f"arn:memory:{kind}/{name}/{next(self.numbers):016x}"

    def ports_of(self, balancer: str) -> dict[int, str]:
        if balancer not in self.ports:
            raise LoadBalancerGone("DescribeListeners", "LoadBalancerNotFound", balancer)
        return self.ports[balancer]

    def group(self, arn: str) -> TargetGroup:
        if arn not in self.groups:
            raise CloudNotFound("DescribeTargetGroups", "TargetGroupNotFound", arn)
        return self.groups[arn]

    def use(self, group: str, balancer: str, change: int) -> None:
        """Count one listener more, or less, that forwards to the target group."""
        self.uses[group] = self.uses.get(group, 0) + change
        there = (balancer,) if self.uses[group] else ()
        self.groups[group] = replace(self.groups[group], load_balancer_arns=there)


class MemoryCloud:
    """A workers.cloud.driver.LoadBalancerApi. Safe to share by threads."""

    def __init__(self, world: World | None = None, keep: Callable[[timedelta], None] | None = None) -> None:
        self.world, self._keep = world or World(), keep

    def on_behalf_of(
        self,
        caller: str,
        priority: Priority,
        keep: Callable[[timedelta], None] | None = None,
        patience: timedelta | None = None,
    ) -> MemoryCloud:
        return MemoryCloud(self.world, keep)

    # ---- load balancers

    def limits(self) -> Limits:
        with self.called():
            return LIMITS

    def find_load_balancers(self, arns: Collection[str] = (), names: Collection[str] = ()) -> list[LoadBalancer]:
        with self.called() as world:
            named = (world.balancer_names[name] for name in names if name in world.balancer_names)
            return [world.balancers[arn] for arn in (*arns, *named) if arn in world.balancers]

    def find_owned_load_balancers(self, cluster: str, pool: str | None = None) -> list[LoadBalancer]:
        with self.called() as world:
            return owned(world.balancers.values(), cluster, pool)

    def create_load_balancer(self, name: str, parameters: LoadBalancerParameters, tags: Tags) -> LoadBalancer:
        with self.called() as world:
            if name in world.balancer_names:
                return ours("CreateLoadBalancer", world.balancers[world.balancer_names[name]], tags)
            arn, dns = world.arn("loadbalancer", name), f"{name}.elb.memory.example"
            made = LoadBalancer(arn, name, dns, LoadBalancerState.ACTIVE, "", tags={**parameters.tags, **tags})
            world.balancers[arn], world.balancer_names[name], world.ports[arn] = made, arn, {}
            return made

    def tag(self, arns: Collection[str], tags: Tags) -> None:
        with self.called() as world:
            kinds: list[dict[str, Any]] = [world.balancers, world.groups, world.listeners]
            found = [(arn, kind) for arn in arns for kind in kinds if arn in kind]
            if len(found) < len(arns):
                raise CloudNotFound("AddTags", "ResourceNotFound", f"one of {', '.join(arns)}")
            for arn, kind in found:
                kind[arn] = replace(kind[arn], tags={**kind[arn].tags, **tags})

    def delete_load_balancer(self, arn: str) -> None:
        with self.called() as world:
            for listener in list(world.ports.get(arn, {}).values()):
                self.delete_listener(listener)
            if gone := world.balancers.pop(arn, None):
                del world.balancer_names[gone.name], world.ports[arn]

    # ---- listeners

    def listeners(self, load_balancer_arn: str) -> list[Listener]:
        with self.called() as world:
            return [world.listeners[arn] for _, arn in sorted(world.ports_of(load_balancer_arn).items())]

    def find_listener(self, load_balancer_arn: str, port: int) -> Listener | None:
        with self.called() as world:
            return world.listeners.get(world.ports_of(load_balancer_arn).get(port, ""))

    def ensure_listener(
        self,
        load_balancer_arn: str,
        port: int,
        protocol: str,
        target_group_arn: str,
        tags: Tags,
        certificate: str | None = None,
    ) -> str:
        with self.called() as world:
            ports, group = world.ports_of(load_balancer_arn), world.group(target_group_arn)
            if group.protocol != ("TCP" if protocol == "TLS" else protocol):
                raise CloudInvalid(
                    "CreateListener", "InvalidConfigurationRequest", f"{group.name} is for {group.protocol}"
                )
            if bool(certificate) is not (protocol == "TLS"):
                raise CloudInvalid("CreateListener", "ValidationError", f"certificate {certificate!r} for {protocol}")
            if port in ports:
                arn = same(world.listeners[ports[port]], protocol, target_group_arn)
                world.listeners[arn] = replace(world.listeners[arn], certificate=certificate)
                return arn
            if len(ports) >= MOST_LISTENERS:
                raise ListenersFull("CreateListener", "TooManyListeners", load_balancer_arn)
            arn = world.arn("listener", str(port))
            made = Listener(arn, load_balancer_arn, port, protocol, target_group_arn, dict(tags), certificate)
            world.listeners[arn] = made
            ports[port] = arn
            world.use(target_group_arn, load_balancer_arn, 1)
            return arn

    def delete_listener(self, arn: str) -> None:
        with self.called() as world:
            if gone := world.listeners.pop(arn, None):
                del world.ports[gone.load_balancer_arn][gone.port]
                world.use(gone.target_group_arn, gone.load_balancer_arn, -1)

    # ---- target groups and targets

    def find_target_group(self, name: str) -> TargetGroup | None:
        with self.called() as world:
            return world.groups.get(world.group_names.get(name, ""))

    def find_target_groups(self, arns: Collection[str]) -> list[TargetGroup]:
        with self.called() as world:
            return [world.groups[arn] for arn in arns if arn in world.groups]

    def target_groups_owned(self, cluster: str, pool: str | None = None) -> list[TargetGroup]:
        with self.called() as world:
            return owned(world.groups.values(), cluster, pool)

    def ensure_target_group(self, name: str, protocol: str, port: int, settings: GroupSettings, tags: Tags) -> str:
        with self.called() as world:
            found, shape = self.find_target_group(name), (protocol, port, settings.vpc_id)
            address_type = settings.address_type
            if found and (found.protocol, found.port, found.vpc_id, found.address_type) == (*shape, address_type):
                return found.arn
            if found:
                self.delete_target_group(ours("CreateTargetGroup", found, tags).arn)
            arn = world.arn("targetgroup", name)
            world.groups[arn] = TargetGroup(arn, name, *shape, tags=dict(tags), address_type=address_type)
            world.group_names[name], world.targets[arn] = arn, set()
            return arn

    def delete_target_group(self, arn: str) -> None:
        with self.called() as world:
            if world.uses.get(arn):
                raise Busy("DeleteTargetGroup", "ResourceInUse", arn)
            if gone := world.groups.pop(arn, None):
                del world.group_names[gone.name], world.targets[arn]

    def register(self, target_group_arn: str, targets: Collection[Address]) -> None:
        with self.called() as world:
            family = world.group(target_group_arn).address_type
            if strangers := [ip for ip, _ in targets if family_of(ip) != family]:
                raise CloudInvalid("RegisterTargets", "ValidationError", f"{strangers} are no {family} addresses")
            world.targets[target_group_arn].update(targets)

    def deregister(self, target_group_arn: str, targets: Collection[Address]) -> None:
        with self.called() as world:
            world.targets.get(target_group_arn, set()).difference_update(targets)

    def targets(self, target_group_arn: str) -> list[RegisteredTarget]:
        with self.called() as world:
            group = world.group(target_group_arn)
            health = "healthy" if group.load_balancer_arns else "unused"
            return [RegisteredTarget(ip, port, health) for ip, port in sorted(world.targets[target_group_arn])]

    # ----

    @contextmanager
    def called(self) -> Iterator[World]:
        """Prove the caller's lease, as the AWS driver does before each call, and lock the resources."""
        if self._keep:
            self._keep(CALL_TIME)
        with self.world.lock:
            yield self.world


def owned(things: Iterable[Thing], cluster: str, pool: str | None) -> list[Thing]:
    return [thing for thing in things if belongs_to(thing.tags, cluster, pool)]


def family_of(ip: str) -> str:
    """The family of an address, '' for other texts."""
    try:
        return f"ipv{ip_address(ip).version}"
    except ValueError:
        return ""


def ours(action: str, found: Thing, tags: Tags) -> Thing:
    if not same_owner(found.tags, tags):
        raise ForeignName(action, "ForeignName", f"the tags of {found.name} are not ours")
    return found


def same(found: Listener, protocol: str, target_group: str) -> str:
    if (found.protocol, found.target_group_arn) != (protocol, target_group):
        raise PortTaken("CreateListener", "DuplicateListener", f"port {found.port} has another listener")
    return found.arn
