"""The spec of a PortPool, and the limits that follow from its provider."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from berthmaster.spec import Length, Spec, broken_rules, length
from domain.port_pools.load_balancer_spec import AS_SET, ONCE, AutoCreate, Name
from domain.port_pools.namespaces import NamespaceSelector
from domain.port_pools.port_pool_rules import RULES
from domain.port_pools.providers import CERTIFICATE_ID, MOST_LISTENERS, REGION, ProviderRules, rules_of


class PoolState(StrEnum):
    """`status.state`. Only runs meet MISSING and NOT_READY, which are never written."""

    PENDING = "Pending"
    ACTIVE = "Active"
    DELETING = "Deleting"
    MISSING = "Missing"
    NOT_READY = "NotReady"


class LoadBalancerPolicy(StrEnum):
    """Which load balancer gives the next port."""

    IN_ORDER = "InOrder"
    UNIFORM = "Uniform"
    RANDOM = "Random"


class PublishWhen(StrEnum):
    """When a pod is shown its ports."""

    REGISTERED = "Registered"
    HEALTHY = "Healthy"


class Precreate(Spec):
    """Listeners and target groups that each load balancer has before any pod comes, by protocol."""

    tcp: Annotated[int, Field(ge=0, le=MOST_LISTENERS, description="TCP listeners of a load balancer")] = 0
    udp: Annotated[int, Field(ge=0, le=MOST_LISTENERS, description="UDP listeners of a load balancer")] = 0
    tcp_udp: Annotated[int, Field(ge=0, le=MOST_LISTENERS, description="TCP_UDP listeners of a load balancer")] = 0

    @property
    def total(self) -> int:
        """Precreated listeners of a load balancer."""
        return self.tcp + self.udp + self.tcp_udp


class HealthCheck(Spec):
    """Health check of the target groups; UDP targets are checked by TCP, on `port` if it is set."""

    port: Annotated[int, Field(ge=0, le=65535, description="0 = the traffic port")] = 0
    interval_seconds: Annotated[int, Field(ge=5, le=300, description="seconds between two checks of a target")] = 10
    healthy_threshold: Annotated[
        int, Field(ge=2, le=10, description="checks in a row that make a target healthy or unhealthy")
    ] = 3


class PortPoolSpec(Spec):
    """A range of ports on load balancers, some named, some created when an allocation fails."""

    region: Annotated[Name, Field(pattern=REGION, description="AWS region of the load balancers; immutable")]
    vpc_id: Annotated[Name, Field(description="VPC of the target groups; immutable")]
    start_port: Annotated[int, Field(ge=1, le=65535, description="first port that is given out; immutable")]
    end_port: Annotated[int, Field(ge=1, le=65535, description="last port that is given out; immutable")] = 65535
    listener_quota: Annotated[
        int | None,
        Field(
            ge=1,
            le=MOST_LISTENERS,
            description="listeners that an existing load balancer may carry, 50 if absent; immutable",
        ),
    ] = None
    lb_policy: Annotated[
        LoadBalancerPolicy,
        Field(description="which load balancer gives the next port: in list order, the emptiest, or any"),
    ] = LoadBalancerPolicy.IN_ORDER
    load_balancers: Annotated[
        tuple[Name, ...],
        Field(max_length=1000, description="ARNs of existing load balancers", json_schema_extra=AS_SET),
        ONCE,
    ] = ()
    lb_blocklist: Annotated[
        tuple[Name, ...],
        Field(
            max_length=1000,
            description="names or ARNs of load balancers that give no new ports; those in use stay",
            json_schema_extra=AS_SET,
        ),
        ONCE,
    ] = ()
    segment_length: Annotated[
        int,
        Field(ge=1, le=MOST_LISTENERS, description="ports of the smallest grant, from such a boundary on; immutable"),
    ] = 1
    auto_create: AutoCreate = AutoCreate()
    precreate: Annotated[Precreate, Field(description="immutable")] = Precreate()
    health_check: HealthCheck = HealthCheck()
    deregistration_delay: Annotated[
        Length | None, Field(description="how long a target drains after it was deregistered, 300s of AWS if absent")
    ] = None
    certificate_arn: Annotated[
        Name | None,
        Field(pattern=CERTIFICATE_ID, description="ARN of the certificate of TLS listeners for pods that name none"),
    ] = None
    allowed_certificates: Annotated[
        tuple[Annotated[Name, Field(pattern=CERTIFICATE_ID)], ...],
        Field(
            max_length=100,
            description="ARNs of certificates that pods may name besides certificateArn; no other if absent",
            json_schema_extra=AS_SET,
        ),
        ONCE,
    ] = ()
    target_address_type: Annotated[
        Literal["ipv4", "ipv6"], Field(description="which address of a pod is registered; immutable")
    ] = "ipv4"
    publish_when: Annotated[
        PublishWhen, Field(description="whether a pod is shown its ports once registered, or only once healthy")
    ] = PublishWhen.REGISTERED
    allowed_namespaces: Annotated[
        NamespaceSelector | None, Field(description="labels of the namespaces that may take ports, all if absent")
    ] = None
    max_ports_per_namespace: Annotated[
        int | None,
        Field(ge=1, description="ports that the pods of one namespace may hold together, no limit if absent"),
    ] = None

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        if messages := broken_rules(RULES, self):
            raise ValueError("; ".join(messages))
        return self

    @property
    def provider(self) -> ProviderRules:
        """The rules of the provider that has the region."""
        rules = rules_of(self.region)
        assert rules, "REGION matches regions of providers only"
        return rules

    @property
    def listeners_of_one(self) -> int:
        """Listeners that one load balancer may carry."""
        return min(self.listener_quota or self.provider.listeners, self.provider.listeners)

    @property
    def range_size(self) -> int:
        """How many ports the range has."""
        return self.end_port - self.start_port + 1

    @property
    def ports(self) -> range:
        """The ports that a load balancer gives out."""
        return range(self.start_port, self.start_port + (self.precreate.total or self.range_size))

    @property
    def drain_seconds(self) -> int:
        """The deregistration delay of targets; -1 for the provider's default."""
        return int(length(self.deregistration_delay).total_seconds()) if self.deregistration_delay else -1

    @property
    def capacity_of_one(self) -> int:
        """Ports that an empty load balancer can give: whole segments, or the precreated listeners."""
        most = self.precreate.total or min(self.listeners_of_one, self.range_size)
        return most - most % self.segment_length

    def capacity_within(self, listeners: int) -> int:
        """Ports that an empty load balancer can give where the account allows it only so many listeners."""
        most = min(self.capacity_of_one, listeners)
        return most - most % self.segment_length

    def certificate_for(self, asked: str | None) -> str | None:
        """The certificate for a pod that names `asked`, None for the default; None if the pool does not allow it."""
        permitted = {self.certificate_arn, *self.allowed_certificates} - {None}
        return (asked if asked in permitted else None) if asked else self.certificate_arn

    def blocks(self, name: str, arn: str | None = None) -> bool:
        """Whether the load balancer gives no new ports. `arn` is None for one that may not exist yet."""
        return name in self.lb_blocklist or arn in self.lb_blocklist

    def unsatisfiable(self, ranges: Sequence[int]) -> str | None:
        """Why the pool can never serve a pod that asks for ranges of these lengths (1: a single port), or None.

        A range lies on one load balancer. Each range longer than half a load balancer needs one of its own.
        """
        most, capacity = self.most_load_balancers, self.capacity_of_one
        ports, longest = sum(ranges), max(ranges, default=0)
        if longest > capacity:
            return f"{longest} ports in a row are asked for and a load balancer of the pool has {capacity}"
        if ports > most * capacity or sum(2 * length > capacity for length in ranges) > most:
            return f"{ports} ports are asked for and the pool can never have more than {most} x {capacity}"
        share = self.max_ports_per_namespace
        return f"{ports} ports are asked for and a namespace may have {share}" if share and ports > share else None

    def with_limit_at_least(self, created: int) -> PortPoolSpec:
        """The spec with room for the load balancers that exist: after a limit was lowered, they go on serving."""
        if not created or (self.auto_create.enabled and created <= self.auto_create.max_load_balancers):
            return self
        auto_create = self.auto_create.model_copy(update={"enabled": True, "max_load_balancers": created})
        return self.model_copy(update={"auto_create": auto_create})

    @property
    def most_load_balancers(self) -> int:
        """How many load balancers the pool can ever have."""
        return len(self.load_balancers) + (self.auto_create.max_load_balancers if self.auto_create.enabled else 0)
