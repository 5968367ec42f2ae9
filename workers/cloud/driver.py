"""The interface to a cloud's load balancers, and the values that it returns.

Every method is idempotent. `ensure_...` and `create_...` adopt what an earlier attempt with a lost answer created, and
deletes succeed when the resource is gone. Resources are deleted only by ARN, which is never used again. All methods
raise workers.cloud.errors, OverBudget when the call budget has no token, and MutexHeld.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from domain.port_pools.load_balancer_spec import LoadBalancerParameters
from domain.port_pools.port_pool import HealthCheck, PortPoolSpec
from domain.ports.target import Address
from workers.cloud.priority import Priority


class LoadBalancerState(StrEnum):
    """The state of a load balancer. It takes listeners in every state but `failed`."""

    PROVISIONING = "provisioning"
    ACTIVE = "active"
    IMPAIRED = "active_impaired"
    FAILED = "failed"


@dataclass(frozen=True)
class LoadBalancer:
    """A load balancer. Only those of the `kind` network are usable."""

    arn: str
    name: str
    dns_name: str
    state: LoadBalancerState
    vpc_id: str
    kind: str = "network"
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Listener:
    """A listener. Ours have the `protocol` TCP, UDP, TCP_UDP or TLS.

    `target_group_arn` is '' when it forwards to none or to several, `certificate` is None when it needs none.
    """

    arn: str
    load_balancer_arn: str
    port: int
    protocol: str
    target_group_arn: str
    tags: Mapping[str, str] = field(default_factory=dict)
    certificate: str | None = None


@dataclass(frozen=True)
class GroupSettings:
    """Settings of all target groups of a pool. `drain_seconds`: deregistration delay, -1 = the provider's default."""

    vpc_id: str
    health_check: HealthCheck = field(default_factory=HealthCheck)
    address_type: str = "ipv4"
    drain_seconds: int = -1

    @classmethod
    def of(cls, spec: PortPoolSpec) -> GroupSettings:
        """The settings that a pool's spec asks for."""
        return cls(spec.vpc_id, spec.health_check, spec.target_address_type, spec.drain_seconds)


@dataclass(frozen=True)
class TargetGroup:
    """A target group. `load_balancer_arns` have a listener that forwards to it; without any, it can be deleted."""

    arn: str
    name: str
    protocol: str
    port: int
    vpc_id: str
    load_balancer_arns: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    address_type: str = "ipv4"


@dataclass(frozen=True)
class RegisteredTarget:
    """A registered address of a pod. `health`: initial, healthy, unhealthy, draining, unused or unavailable."""

    ip: str
    port: int
    health: str = ""


@dataclass(frozen=True)
class Limits:
    """How many resources the account may have in the region; `listeners` counts those of one load balancer."""

    load_balancers: int
    listeners: int
    target_groups: int


class LoadBalancerApi(Protocol):
    """One region, on behalf of one caller."""

    def on_behalf_of(
        self,
        caller: str,
        priority: Priority,
        keep: Callable[[timedelta], None] | None = None,
        patience: timedelta | None = None,
    ) -> LoadBalancerApi:
        """Return the same cloud for one run. `caller` names it in the call budget (the key of the run).

        `keep(at_least)` is called right before each call, with the longest time that the call can take (Run.keep), and
        before each wait: for a token, for a mutex, or for a list that another caller reads. What it raises ends the
        method. `patience` is how long a method may sleep for a token (default 200 ms). Only lists of whole accounts
        (rebuild, audit) should ask for more, because a list that stops in the middle starts again.
        """
        ...

    def limits(self) -> Limits:
        """The limits of the account, which may be a while old: the settings of the provider say how long."""
        ...

    def find_load_balancers(self, arns: Collection[str] = (), names: Collection[str] = ()) -> list[LoadBalancer]:
        """The load balancers that exist, with tags. A missing one does not hide the others."""
        ...

    def find_owned_load_balancers(self, cluster: str, pool: str | None = None) -> list[LoadBalancer]:
        """The network load balancers with the tags of this cluster (and pool)."""
        ...

    def create_load_balancer(
        self, name: str, parameters: LoadBalancerParameters, tags: Mapping[str, str]
    ) -> LoadBalancer:
        """Create it, or adopt the one of that name that carries `tags`. Raises ForeignName if it does not."""
        ...

    def tag(self, arns: Collection[str], tags: Mapping[str, str]) -> None:
        """Add or change tags of load balancers, listeners or target groups."""
        ...

    def delete_load_balancer(self, arn: str) -> None:
        """Delete it. Raises CloudDenied when it is protected against deletion."""
        ...

    def listeners(self, load_balancer_arn: str) -> list[Listener]:
        """All listeners, foreign ones too, with tags. Raises LoadBalancerGone."""
        ...

    def find_listener(self, load_balancer_arn: str, port: int) -> Listener | None:
        """The listener on that port, with tags. Raises LoadBalancerGone."""
        ...

    def ensure_listener(
        self,
        load_balancer_arn: str,
        port: int,
        protocol: str,
        target_group_arn: str,
        tags: Mapping[str, str],
        certificate: str | None = None,
    ) -> str:
        """Create or adopt the listener on that port that forwards to that target group, and return its ARN.

        `protocol` TLS needs the ARN of a `certificate` and a TCP target group; an adopted listener gets that
        certificate. Raises PortTaken when the port has another listener (find_listener says whose), LoadBalancerGone,
        ListenersFull, and CloudNotFound when the target group is gone.
        """
        ...

    def delete_listener(self, arn: str) -> None:
        """Delete it."""
        ...

    def find_target_group(self, name: str) -> TargetGroup | None:
        """The target group of that name, with tags."""
        ...

    def find_target_groups(self, arns: Collection[str]) -> list[TargetGroup]:
        """The target groups that exist, with tags."""
        ...

    def target_groups_owned(self, cluster: str, pool: str | None = None) -> list[TargetGroup]:
        """The target groups with the tags of this cluster (and pool)."""
        ...

    def ensure_target_group(
        self, name: str, protocol: str, port: int, settings: GroupSettings, tags: Mapping[str, str]
    ) -> str:
        """Create or adopt the target group of that name, and return its ARN. One with other settings is replaced.

        `protocol` is TCP, UDP or TCP_UDP. A deregistration delay costs a call of its own. Raises ForeignName if the
        tags are not ours, Busy if a listener still uses the group that must be replaced.
        """
        ...

    def delete_target_group(self, arn: str) -> None:
        """Delete it. Raises Busy while a listener forwards to it."""
        ...

    def register(self, target_group_arn: str, targets: Collection[Address]) -> None:
        """Register all in one call. Raises CloudNotFound when the group is gone, CloudInvalid for a bad address."""
        ...

    def deregister(self, target_group_arn: str, targets: Collection[Address]) -> None:
        """Deregister all in one call. A target that is not registered is no error, nor is a group that is gone."""
        ...

    def targets(self, target_group_arn: str) -> list[RegisteredTarget]:
        """All targets of a group with their health, draining ones included. One call a target group."""
        ...
