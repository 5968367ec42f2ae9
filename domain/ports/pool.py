"""PortPool: what its users declare, and the limits that follow from a Network Load Balancer."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

NLB_LISTENERS = 50  # AWS: listeners of a Network Load Balancer, a quota that cannot be raised
Port = Annotated[int, Field(ge=1, le=65535)]


class PoolState(StrEnum):
    """`status.state`; MISSING and NOT_READY are only ever seen by runs, never written."""

    PENDING = "Pending"
    ACTIVE = "Active"
    DELETING = "Deleting"
    MISSING = "Missing"
    NOT_READY = "NotReady"


class Policy(StrEnum):
    IN_ORDER = "InOrder"
    UNIFORM = "Uniform"
    RANDOM = "Random"


class Spec(BaseModel):
    """Camel case outside, as Kubernetes writes; unknown fields are refused with their name."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


class LoadBalancerParameters(Spec):
    """How load balancers are created (AWS CreateLoadBalancer)."""

    scheme: Annotated[str, Field(pattern="^(internet-facing|internal)$")] = "internet-facing"
    subnets: Annotated[tuple[str, ...], Field(description="subnet ids, one an availability zone")] = ()
    security_groups: tuple[str, ...] = ()
    ip_address_type: Annotated[str, Field(pattern="^(ipv4|dualstack)$")] = "ipv4"
    cross_zone: bool = False
    tags: Annotated[dict[str, str], Field(description="more tags for created load balancers")] = {}


class AutoCreate(Spec):
    """Growing by load balancers of our own."""

    enabled: bool = False
    max_load_balancers: Annotated[int, Field(ge=1, le=1000, description="never more of ours exist than this")] = 1
    max_per_round: Annotated[int, Field(ge=1, le=100, description="how many a single scale-up may create")] = 10
    parameters: LoadBalancerParameters = LoadBalancerParameters()


class HealthCheck(Spec):
    """Health check of the target groups; UDP targets are checked by TCP, on `port` if it is set."""

    port: Annotated[int, Field(ge=0, le=65535, description="0 = the traffic port")] = 0
    interval_seconds: Annotated[int, Field(ge=5, le=300)] = 10
    healthy_threshold: Annotated[int, Field(ge=2, le=10)] = 3


class PortPoolSpec(Spec):
    """A range of ports on load balancers, some named, some created when an allocation fails."""

    region: Annotated[str, Field(min_length=1, description="AWS region of the load balancers")]
    vpc_id: Annotated[str, Field(min_length=1, description="VPC of the target groups")]
    start_port: Port
    end_port: Port = 65535
    listener_quota: Annotated[
        int | None,
        Field(ge=1, le=NLB_LISTENERS, description="listeners an existing load balancer may carry, default 50"),
    ] = None
    lb_policy: Policy = Policy.IN_ORDER
    load_balancers: Annotated[tuple[str, ...], Field(description="ARNs of existing load balancers")] = ()
    auto_create: AutoCreate = AutoCreate()
    health_check: HealthCheck = HealthCheck()

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        if self.end_port <= self.start_port:
            raise ValueError("endPort must be greater than startPort")
        if not self.load_balancers and not self.auto_create.enabled:
            raise ValueError("loadBalancers is empty and autoCreate.enabled is false: the pool would never have a port")
        if self.auto_create.enabled and self.listener_quota is not None:
            raise ValueError(
                "listenerQuota is for existing load balancers: it cannot be set while autoCreate.enabled is true"
            )
        if self.auto_create.enabled and not self.auto_create.parameters.subnets:
            raise ValueError("autoCreate.parameters.subnets is empty: a load balancer needs at least one subnet")
        return self

    @property
    def range_size(self) -> int:
        return self.end_port - self.start_port + 1

    @property
    def capacity_of_one(self) -> int:
        """Ports that an empty load balancer can give."""
        return min(self.listener_quota or NLB_LISTENERS, self.range_size)

    def unsatisfiable(self, ports: int) -> str:
        """Why a pod with so many single ports can never be served, or ''."""
        most = len(self.load_balancers) + (self.auto_create.max_load_balancers if self.auto_create.enabled else 0)
        if ports > most * self.capacity_of_one:
            return f"{ports} ports are asked for and the pool can never have more than {most} x {self.capacity_of_one}"
        return ""
