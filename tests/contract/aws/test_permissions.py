"""The IAM policy allows what the driver does, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.exceptions import ClientError

from compose.sandbox.aws.policy import EC2, statements_of
from domain.port_pools.port_pool import HealthCheck
from tests.contract.aws.conftest import Driving, Maker
from tests.fixtures.aws import REGION, Aws
from tests.support.ports.unlimited import Unlimited
from workers.cloud.aws.actions import ACTIONS
from workers.cloud.aws.nlb import on_client
from workers.cloud.errors import CloudDenied, CloudNotFound
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
    tags = [{"Key": "berthmaster.dev/listeners-of", "Value": "blue"}]
    balancer = Maker(drive.aws).balancer("lobby", Tags=tags)
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
STATEMENTS = statements_of(POLICY.read_text(), "blue")
OTHERS = statements_of(POLICY.read_text(), "green")


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
    except (CloudDenied, ClientError) as error:
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


def attacks(drive: Driving, client: Any, arns: dict[str, str]) -> list[Callable[[], object]]:
    """What whoever has the role of cluster green tries on `arns`, which are blue's, and to make things look blue's."""
    target, foreign = [("10.0.0.5", 7777)], {"Key": "a", "Value": "b"}
    balancer, group, listener = arns["balancer"], arns["group"], arns["listener"]
    blue, green = ({"Key": CLUSTER, "Value": name} for name in ("blue", "green"))
    listening = {
        "Port": 31000,
        "Protocol": "TCP",
        "DefaultActions": [{"Type": "forward", "TargetGroupArn": group}],
    }
    made = {"Protocol": "TCP", "Port": 1, "VpcId": drive.vpc}
    return [
        lambda: drive.api.delete_listener(listener),
        lambda: drive.api.delete_target_group(group),
        lambda: drive.api.delete_load_balancer(balancer),
        lambda: drive.api.register(group, target),
        lambda: drive.api.deregister(group, target),
        *(partial(drive.api.tag, [arn], {CLUSTER: "green", UID: "mine"}) for arn in arns.values()),
        lambda: client.add_tags(ResourceArns=[balancer], Tags=[foreign]),
        lambda: client.modify_listener(ListenerArn=listener, Port=31001),
        lambda: client.modify_target_group_attributes(
            TargetGroupArn=group, Attributes=[{"Key": "deregistration_delay.timeout_seconds", "Value": "0"}]
        ),
        lambda: client.modify_load_balancer_attributes(
            LoadBalancerArn=balancer, Attributes=[{"Key": "deletion_protection.enabled", "Value": "true"}]
        ),
        *(
            partial(client.create_listener, LoadBalancerArn=arn, Tags=[tag], **listening)
            for arn in (balancer, arns["lobby"])
            for tag in (blue, green)
        ),
        *(partial(client.create_target_group, Name="bm-mine", Tags=[tag], **made) for tag in (blue, foreign)),
        lambda: client.create_load_balancer(
            Name="bm-theirs", Type="network", Subnets=drive.aws.ids.subnets, Tags=[blue]
        ),
    ]


@pytest.mark.row("HO-09")
def test_another_cluster_of_the_account_changes_nothing_of_this_one(
    permitted: Permitted, make: Maker, our_client: ElasticLoadBalancingv2Client
) -> None:
    drive = permitted(STATEMENTS)
    balancer, group = drive.balancer().arn, drive.group()
    listener = drive.listener(balancer, 30000, group)
    lobby = make.balancer("lobby", Tags=[{"Key": "berthmaster.dev/listeners-of", "Value": "blue"}])
    arns = {"balancer": balancer, "group": group, "listener": listener, "lobby": lobby}
    drive.aws.change(policies={OUR_KEY: OTHERS})
    tried = attacks(drive, our_client, arns)
    assert [number for number, attack in enumerate(tried) if not denied(attack)] == []
    drive.aws.change(policies={OUR_KEY: STATEMENTS})
    assert denied(lambda: drive.api.tag([balancer], {CLUSTER: "green"}))
    drive.api.delete_listener(listener)


@pytest.mark.row("EV-19")
def test_the_driver_uses_exactly_the_actions_of_its_table(drive: Driving) -> None:
    everything(drive)
    assert set(drive.aws.counts()) == set(ACTIONS)


@pytest.mark.row("EV-19")
def test_the_policy_allows_exactly_the_actions_of_the_table() -> None:
    allowed = {action for statement in STATEMENTS for action in statement["Action"]}
    behind = {f"ec2:Describe{kind}" for kinds in EC2.values() for kind in kinds.split()}
    assert allowed == {f"elasticloadbalancing:{action}" for action in ACTIONS} | behind | {
        "iam:CreateServiceLinkedRole"
    }
    assert all(statement["Effect"] == "Allow" for statement in STATEMENTS)


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
    with pytest.raises(CloudNotFound, match="TargetGroupNotFound"):
        drive.api.register(group, target)
