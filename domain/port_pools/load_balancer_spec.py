"""The spec of load balancers that a pool creates and removes itself."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, JsonValue

from berthmaster.forms import form
from berthmaster.spec import Length, Spec, each_once

Name = Annotated[str, Field(min_length=1, max_length=256)]
CROSS_ZONE: Final = (
    "balance over all zones of the subnets: a port has one target, and without this the addresses of other zones lead"
    " nowhere; AWS bills traffic between zones"
)
ONCE: Final = AfterValidator(each_once)
PREFIX: Final = form(
    "^[a-z]([a-z0-9-]{0,8}[a-z0-9])?$",
    "1 to 10 lower-case letters, digits and '-', with a letter first and a letter or digit last",
)
AS_SET: Final[dict[str, JsonValue]] = {"x-kubernetes-list-type": "set"}


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
    cross_zone: Annotated[bool, Field(description=CROSS_ZONE)] = True
    name_prefix: Annotated[
        str,
        Field(
            pattern=PREFIX,
            description="first letters of their names, before pool, hash and number; immutable",
        ),
    ] = "bm"
    tags: Annotated[
        dict[str, Annotated[str, Field(max_length=256)]],
        Field(max_length=40, description="more tags for created load balancers"),
    ] = {}


class AutoCreate(Spec):
    """The pool creates load balancers when an allocation fails, and removes those that stay empty."""

    enabled: Annotated[bool, Field(description="whether load balancers are created at all")] = False
    max_load_balancers: Annotated[int, Field(ge=1, le=1000, description="never more of ours exist than this")] = 1
    max_per_round: Annotated[int, Field(ge=1, le=100, description="how many a single scale-up may create")] = 10
    scale_down_delay: Annotated[
        Length, Field(description="how long a created load balancer must be empty before it is removed, such as 10m")
    ] = "10m"
    parameters: LoadBalancerParameters = LoadBalancerParameters()
