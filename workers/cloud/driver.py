"""What the fleet asks of a cloud's load balancers: the interface, and the values that it answers with.

Every method is idempotent: `ensure_...` and `create_...` find what an earlier attempt with a lost answer has made,
deletes succeed when the thing is gone. Nothing is deleted but by its ARN, which never comes back. All methods raise
workers.cloud.errors, and TransientError(retry_after) when the call budget says later.
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
    """AWS's words. Listeners can be created in every state but `failed`."""

    PROVISIONING = "provisioning"
    ACTIVE = "active"
    IMPAIRED = "active_impaired"
    FAILED = "failed"


@dataclass(frozen=True)
class LoadBalancer:
    """`kind` is AWS's type: only `network` is of use."""

    arn: str
    name: str
    dns_name: str
    state: LoadBalancerState
    vpc_id: str
    kind: str = "network"
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Listener:
    """`protocol` is TCP, UDP, TCP_UDP or TLS for ours; `target_group_arn` is '' when it forwards to none or to several,
    `certificate` when it needs none.
    """

    arn: str
    load_balancer_arn: str
    port: int
    protocol: str
    target_group_arn: str
    tags: Mapping[str, str] = field(default_factory=dict)
    certificate: str = ""


@dataclass(frozen=True)
class GroupSettings:
    """What all target groups of a pool have in common. `drain_seconds`: deregistration delay, -1 = AWS's default."""

    vpc_id: str
    health_check: HealthCheck = field(default_factory=HealthCheck)
    address_type: str = "ipv4"
    drain_seconds: int = -1

    @classmethod
    def of(cls, spec: PortPoolSpec) -> GroupSettings:
        return cls(spec.vpc_id, spec.health_check, spec.target_address_type, spec.drain_seconds)


@dataclass(frozen=True)
class TargetGroup:
    """`load_balancer_arns`: those with a listener that forwards to it; empty = it can be deleted."""

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
    """An address of a pod. `health` is AWS's word (initial, healthy, unhealthy, draining, unused, unavailable)."""

    ip: str
    port: int
    health: str = ""


@dataclass(frozen=True)
class Limits:
    """How many the account may have in the region; `listeners` on one network load balancer."""

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
        """The same cloud for one run. `caller` names it in the call budget (the key of the run).

        `keep(at_least)` is called right before each call to AWS with the longest time that it can take (Run.keep); what
        it raises ends the method. `patience` is how long a method may sleep for a token (default 200 ms): only lists
        of whole accounts (rebuild, audit) should ask for more, because a list that stops in the middle starts again.
        """
        ...

    def limits(self) -> Limits:
        """As AWS told within the last hour (AwsSettings.limits_for)."""
        ...

    def find_load_balancers(self, arns: Collection[str] = (), names: Collection[str] = ()) -> list[LoadBalancer]:
        """Those that exist, with tags. Missing ones are left out and do not hide the others."""
        ...

    def find_owned_load_balancers(self, cluster: str, pool: str | None = None) -> list[LoadBalancer]:
        """Network load balancers that carry the tags of this cluster (and pool)."""
        ...

    def create_load_balancer(
        self, name: str, parameters: LoadBalancerParameters, tags: Mapping[str, str]
    ) -> LoadBalancer:
        """Creates it, or adopts the one of that name that carries `tags`. Raises ForeignName if it does not."""
        ...

    def tag(self, arns: Collection[str], tags: Mapping[str, str]) -> None:
        """Adds or changes tags of load balancers, listeners or target groups."""
        ...

    def delete_load_balancer(self, arn: str) -> None: ...

    def listeners(self, load_balancer_arn: str) -> list[Listener]:
        """All of them, with tags, foreign ones too. Raises NotFound when the load balancer is gone."""
        ...

    def find_listener(self, load_balancer_arn: str, port: int) -> Listener | None:
        """The listener on that port, with tags. Raises NotFound when the load balancer is gone."""
        ...

    def ensure_listener(
        self,
        load_balancer_arn: str,
        port: int,
        protocol: str,
        target_group_arn: str,
        tags: Mapping[str, str],
        certificate: str = "",
    ) -> str:
        """The ARN of the listener on that port that forwards to that target group, created or adopted.

        `protocol` TLS needs the ARN of a `certificate` and a TCP target group; an adopted listener is given that
        certificate. Raises PortTaken when the port has another listener: find_listener tells whose.
        """
        ...

    def delete_listener(self, arn: str) -> None: ...

    def find_target_group(self, name: str) -> TargetGroup | None:
        """With tags."""
        ...

    def find_target_groups(self, arns: Collection[str]) -> list[TargetGroup]:
        """Those that exist, with tags."""
        ...

    def target_groups_owned(self, cluster: str, pool: str | None = None) -> list[TargetGroup]:
        """Target groups that carry the tags of this cluster (and pool)."""
        ...

    def ensure_target_group(
        self, name: str, protocol: str, port: int, settings: GroupSettings, tags: Mapping[str, str]
    ) -> str:
        """The ARN of the target group of that name, created, adopted or, if ours has other settings, replaced.

        `protocol` TCP, UDP or TCP_UDP. A deregistration delay costs a call of its own. Raises ForeignName if its tags
        are not ours, Busy if a listener still uses the one that must be replaced.
        """
        ...

    def delete_target_group(self, arn: str) -> None:
        """Raises Busy while a listener forwards to it."""
        ...

    def register(self, target_group_arn: str, targets: Collection[Address]) -> None:
        """One call for all. Raises NotFound when the group is gone, Invalid when AWS does not take an address."""
        ...

    def deregister(self, target_group_arn: str, targets: Collection[Address]) -> None:
        """One call for all. A target that is not registered is no error, nor is a target group that is gone."""
        ...

    def targets(self, target_group_arn: str) -> list[RegisteredTarget]:
        """All that AWS knows, with their health, those that drain included. AWS answers for one target group a call."""
        ...
