"""The only VPC of the sandbox. It has fixed ids and a subnet in each of three zones.

Elastic Load Balancing asks EC2 for subnets, security groups and VPCs. `SandboxVpc` answers in EC2's place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from moto.ec2.exceptions import InvalidVPCIdError

VPC_ID: Final = "vpc-0be47a57e40000001"
CIDR: Final = "10.0.0.0/8"
SECURITY_GROUP: Final = "sg-0be47a57e40000001"


@dataclass(frozen=True)
class Subnet:
    """A subnet, with the fields that load balancers read."""

    id: str
    vpc_id: str
    availability_zone: str


@dataclass
class SandboxVpc:
    """The VPC of a region, with the methods of moto's EC2 backend that Elastic Load Balancing calls."""

    region: str
    subnets: list[Subnet] = field(init=False)

    def __post_init__(self) -> None:
        zones = enumerate("abc", start=1)
        self.subnets = [Subnet(f"subnet-0be47a57e4000000{n}", VPC_ID, f"{self.region}{zone}") for n, zone in zones]

    def get_subnet(self, subnet_id: str) -> Subnet | None:
        """Return a subnet, or None."""
        return next((subnet for subnet in self.subnets if subnet.id == subnet_id), None)

    def get_security_group_from_id(self, group_id: str) -> str | None:
        """Return the id of the only security group, None for any other id."""
        return group_id if group_id == SECURITY_GROUP else None

    def get_vpc(self, vpc_id: str) -> str:
        """Return the id of the only VPC. Raises InvalidVPCIdError for any other id."""
        if vpc_id != VPC_ID:
            raise InvalidVPCIdError(vpc_id)
        return vpc_id

    def described(self) -> dict[str, Any]:
        """Return the ids that people and tests put into a pool."""
        ids = [subnet.id for subnet in self.subnets]
        return {"vpc": VPC_ID, "cidr": CIDR, "subnets": ids, "securityGroup": SECURITY_GROUP, "region": self.region}
