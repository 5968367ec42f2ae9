"""The IAM policy allows what the driver does, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import orjson
import pytest
from botocore.exceptions import ClientError

from compose.sandbox.aws.policy import EC2
from domain.ports.pool import HealthCheck
from tests.contract.aws.conftest import Driving, Maker
from tests.fixtures.aws import REGION, Aws
from workers.cloud.aws_nlb import on_client
from workers.cloud.errors import Denied, NotFound
from workers.cloud.rates import ACTIONS, Unlimited
from workers.cloud.tags import CLUSTER, RETIRING, UID

if TYPE_CHECKING:
    from mypy_boto3_elbv2 import ElasticLoadBalancingv2Client

POLICY = Path(__file__).parents[3] / "deploy" / "iam" / "policy.json"


def everything(drive: Driving) -> None:
    """Each method of the driver, so that each of its calls is made."""
    balancer = drive.balancer(cross_zone=True)
    group = drive.group()
    drive.group(check=HealthCheck(interval_seconds=20))
    listener = drive.listener(balancer.arn, 30000, group)
    drive.api.tag([balancer.arn], {RETIRING: "true"})
    drive.api.register(group, [("10.0.0.5", 7777)])
    drive.api.targets(group)
    drive.api.deregister(group, [("10.0.0.5", 7777)])
    drive.api.listeners(balancer.arn)
    drive.api.find_owned_load_balancers("blue")
    drive.api.limits()
    drive.group("bm-30001-a", drain=30)
    [first, second] = ["arn:aws:acm:us-east-1:123456789012:certificate/" + name for name in "ab"]
    drive.listener(balancer.arn, 30001, drive.group("bm-30002-a"), "TLS", first)
    drive.listener(balancer.arn, 30001, drive.group("bm-30002-a"), "TLS", second)
    drive.api.delete_listener(listener)
    drive.api.delete_target_group(group)
    drive.api.delete_load_balancer(balancer.arn)


def shared(drive: Driving) -> None:
    """A listener on a load balancer of others."""
    balancer = Maker(drive.aws).balancer("lobby")
    drive.listener(balancer, 20000, drive.group("bm-20000-a"))


def restored(drive: Driving) -> None:
    """Of what we made, tags that others removed are written again."""
    balancer = drive.balancer("bm-arena-1")
    group = drive.group("bm-30009-a")
    arns = [balancer.arn, group, drive.listener(balancer.arn, 30009, group)]
    client, again = drive.aws.client(), {CLUSTER: "blue", UID: "uid-1"}
    client.remove_tags(ResourceArns=arns, TagKeys=list(again))
    drive.api.tag(arns, again)


SCENARIOS = (everything, shared, restored)
STATEMENTS = orjson.loads(POLICY.read_bytes())["Statement"]


Permitted = Callable[[list[dict[str, Any]]], Driving]
OUR_KEY = "ours"


@pytest.fixture(scope="module")
def our_client(aws_server: Aws) -> ElasticLoadBalancingv2Client:
    session = boto3.session.Session(aws_access_key_id=OUR_KEY, aws_secret_access_key="any")
    client: ElasticLoadBalancingv2Client = session.client(
        "elbv2", region_name=REGION, endpoint_url=aws_server.endpoint_url
    )
    return client


@pytest.fixture
def permitted(aws: Aws, our_client: ElasticLoadBalancingv2Client) -> Permitted:
    """A driver that may do what these statements allow, where nothing is yet."""

    def driving(statements: list[dict[str, Any]]) -> Driving:
        aws.reset()
        aws.change(policies={OUR_KEY: statements})
        drive = Driving(aws)
        drive.api = on_client(our_client, aws.settings, Unlimited())
        return drive

    return driving


def denied(call: Callable[[], object]) -> bool:
    try:
        call()
    except (Denied, ClientError) as error:
        return "AccessDenied" in str(error)
    return False


@pytest.mark.row("EV-19")
def test_the_policy_is_enough_for_everything_that_the_driver_does(aws: Aws, permitted: Permitted) -> None:
    for scenario in SCENARIOS:
        scenario(permitted(STATEMENTS))
        assert [refusal for refusal in aws.refusals() if "AccessDenied" in refusal] == []


@pytest.mark.row("EV-19")
@pytest.mark.parametrize("left_out", STATEMENTS, ids=lambda statement: str(statement["Sid"]))
def test_each_statement_of_the_policy_is_needed(permitted: Permitted, left_out: dict[str, Any]) -> None:
    rest = [statement for statement in STATEMENTS if statement is not left_out]
    assert [scenario for scenario in SCENARIOS if denied(partial(scenario, permitted(rest)))]


@pytest.mark.row("EV-19")
def test_the_policy_protects_what_is_not_ours(
    permitted: Permitted, make: Maker, our_client: ElasticLoadBalancingv2Client
) -> None:
    drive = permitted(STATEMENTS)
    balancer, group = make.balancer(), make.group()
    listener = make.listener(balancer, 80, group)
    forbidden: list[Callable[[], object]] = [
        lambda: drive.api.delete_listener(listener),
        lambda: drive.api.delete_target_group(group),
        lambda: drive.api.delete_load_balancer(balancer),
        lambda: drive.api.register(group, [("10.0.0.5", 7777)]),
        lambda: drive.api.deregister(group, [("10.0.0.5", 7777)]),
        lambda: drive.api.tag([balancer], {CLUSTER: "blue"}),
        lambda: our_client.remove_tags(ResourceArns=[balancer], TagKeys=["team"]),
    ]
    assert [call for call in forbidden if not denied(call)] == []


@pytest.mark.row("EV-19")
def test_the_driver_uses_exactly_the_actions_of_its_table(drive: Driving) -> None:
    everything(drive)
    assert set(drive.aws.counts()) == set(ACTIONS)


@pytest.mark.row("EV-19")
def test_the_policy_allows_exactly_the_actions_of_the_table() -> None:
    statements = orjson.loads(POLICY.read_bytes())["Statement"]
    allowed = {action for statement in statements for action in statement["Action"]}
    behind = {f"ec2:Describe{kind}" for kinds in EC2.values() for kind in kinds.split()}
    assert allowed == {f"elasticloadbalancing:{action}" for action in ACTIONS} | behind | {
        "iam:CreateServiceLinkedRole"
    }
    assert all(statement["Effect"] == "Allow" for statement in statements)


@pytest.mark.row("EV-19", "EV-14")
def test_what_is_gone_is_not_found_though_the_policy_denies_what_has_no_tags(permitted: Permitted) -> None:
    """A worker that dies after a deletion leaves it to the next run, which deletes again."""
    drive, target = permitted(STATEMENTS), [("10.0.0.5", 7777)]
    balancer, group = drive.balancer(), drive.group()
    listener = drive.listener(balancer.arn, 30000, group)
    for _ in range(2):
        drive.api.delete_listener(listener)
        drive.api.delete_target_group(group)
        drive.api.delete_load_balancer(balancer.arn)
    drive.api.deregister(group, target)
    with pytest.raises(NotFound, match="TargetGroupNotFound"):
        drive.api.register(group, target)
