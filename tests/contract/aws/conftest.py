"""Load balancers and target groups made plainly with boto3, and the same through the driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from domain.port_pools.load_balancer_spec import LoadBalancerParameters
from domain.port_pools.port_pool import HealthCheck
from tests.fixtures.aws import Aws
from tests.support.ports.memory_cloud import MemoryCloud
from workers.cloud.driver import GroupSettings, LoadBalancer, LoadBalancerApi
from workers.cloud.tags import CLUSTER, POOL, UID

if TYPE_CHECKING:
    from mypy_boto3_elbv2 import ElasticLoadBalancingv2Client

TAGS = {CLUSTER: "blue", POOL: "arena"}
MINE = {**TAGS, UID: "uid-1"}


class Maker:
    """Things with defaults, made by a bare client."""

    def __init__(self, aws: Aws) -> None:
        self.aws, self.client, self.ids = aws, aws.client(), aws.ids

    def balancer(self, name: str = "plain", **changes: Any) -> str:
        asked = {"Name": name, "Type": "network", "Subnets": self.ids.subnets, **changes}
        return self.client.create_load_balancer(**asked)["LoadBalancers"][0]["LoadBalancerArn"]

    def group(self, name: str = "group", **changes: Any) -> str:
        asked = {"Name": name, "Protocol": "TCP", "Port": 7777, "VpcId": self.ids.vpc, "TargetType": "ip", **changes}
        return self.client.create_target_group(**asked)["TargetGroups"][0]["TargetGroupArn"]

    def listener(self, balancer: str, port: int, group: str, protocol: str = "TCP") -> str:
        actions: Any = [{"Type": "forward", "TargetGroupArn": group}]
        kind: Any = protocol
        made = self.client.create_listener(LoadBalancerArn=balancer, Port=port, Protocol=kind, DefaultActions=actions)
        return made["Listeners"][0]["ListenerArn"]


class Driven:
    """A driver, with the same defaults for what it makes."""

    def __init__(self, api: LoadBalancerApi, parameters: LoadBalancerParameters, vpc: str) -> None:
        self.api, self.parameters, self.vpc = api, parameters, vpc

    def balancer(self, name: str = "bm-arena-0", **changes: Any) -> LoadBalancer:
        return self.api.create_load_balancer(name, self.parameters.model_copy(update=changes), TAGS)

    def group(self, name: str = "bm-30000-a", protocol: str = "TCP", port: int = 7777, **changes: Any) -> str:
        settings = GroupSettings(
            self.vpc, changes.get("check", HealthCheck()), changes.get("family", "ipv4"), changes.get("drain", -1)
        )
        return self.api.ensure_target_group(name, protocol, port, settings, changes.get("tags", MINE))

    def listener(self, balancer: str, port: int, group: str, protocol: str = "TCP", certificate: str = "") -> str:
        return self.api.ensure_listener(balancer, port, protocol, group, MINE, certificate)


class Driving(Driven):
    """The driver of AWS."""

    def __init__(self, aws: Aws) -> None:
        self.aws = aws
        super().__init__(aws.driver(), aws.parameters, aws.ids.vpc)


@pytest.fixture
def make(aws: Aws) -> Maker:
    return Maker(aws)


@pytest.fixture
def client(make: Maker) -> ElasticLoadBalancingv2Client:
    return make.client


@pytest.fixture
def drive(aws: Aws) -> Driving:
    return Driving(aws)


@pytest.fixture(params=["aws", "memory"])
def cloud(request: pytest.FixtureRequest) -> Driven:
    """Each implementation in turn, for what all of them must keep."""
    if request.param == "memory":
        return Driven(MemoryCloud(), LoadBalancerParameters(subnets=("subnet-1",)), "vpc-1")
    driving: Driven = request.getfixturevalue("drive")
    return driving


@pytest.fixture
def driver(drive: Driving) -> LoadBalancerApi:
    return drive.api


def refusal(call: Callable[[], object]) -> str:
    """The code with which AWS refuses a call."""
    with pytest.raises(ClientError) as refused:
        call()
    return str(refused.value.response["Error"]["Code"])
