"""PortPool: what its users declare, and the limits that follow from a Network Load Balancer."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator
from pydantic.alias_generators import to_camel

from domain.ports.pool_rules import broken_rules, each_once

NLB_LISTENERS: Final = 50  # AWS: listeners of a Network Load Balancer, a quota that cannot be raised
Name = Annotated[str, Field(min_length=1, max_length=256)]
REGION: Final = r"^[a-z]{2,}(-[a-z]+)+-[0-9]+$"  # with another, no client could be made, not even to delete the pool
ONCE: Final = AfterValidator(each_once)
AS_SET: Final[dict[str, JsonValue]] = {"x-kubernetes-list-type": "set"}


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

    scheme: Annotated[Literal["internet-facing", "internal"], Field(description="who can reach them")] = (
        "internet-facing"
    )
    subnets: Annotated[
        tuple[Name, ...],
        Field(max_length=20, description="subnet ids, one an availability zone", json_schema_extra=AS_SET),
        ONCE,
    ] = ()
    security_groups: Annotated[
        tuple[Name, ...],
        Field(
            max_length=20,
            description="security group ids; without any, AWS never lets this load balancer have one",
            json_schema_extra=AS_SET,
        ),
        ONCE,
    ] = ()
    ip_address_type: Annotated[Literal["ipv4", "dualstack"], Field(description="which addresses they have")] = "ipv4"
    cross_zone: Annotated[bool, Field(description="balance over all zones; AWS bills traffic between zones")] = False
    tags: Annotated[
        dict[str, Annotated[str, Field(max_length=256)]],
        Field(max_length=40, description="more tags for created load balancers"),
    ] = {}


class AutoCreate(Spec):
    """Growing by load balancers of our own when an allocation fails."""

    enabled: Annotated[bool, Field(description="whether load balancers are created at all")] = False
    max_load_balancers: Annotated[int, Field(ge=1, le=1000, description="never more of ours exist than this")] = 1
    max_per_round: Annotated[int, Field(ge=1, le=100, description="how many a single scale-up may create")] = 10
    parameters: LoadBalancerParameters = LoadBalancerParameters()


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
            le=NLB_LISTENERS,
            description="listeners that an existing load balancer may carry, 50 if absent; immutable",
        ),
    ] = None
    lb_policy: Annotated[
        Policy,
        Field(description="which load balancer gives the next port: in list order, the emptiest, or any"),
    ] = Policy.IN_ORDER
    load_balancers: Annotated[
        tuple[Name, ...],
        Field(max_length=1000, description="ARNs of existing load balancers", json_schema_extra=AS_SET),
        ONCE,
    ] = ()
    auto_create: AutoCreate = AutoCreate()
    health_check: HealthCheck = HealthCheck()

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        if messages := broken_rules(self):
            raise ValueError("; ".join(messages))
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
