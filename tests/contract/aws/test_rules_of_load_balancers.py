"""What the sandbox AWS refuses and allows about load balancers, listeners and their quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.aws.conftest import Maker, refusal
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from mypy_boto3_elbv2 import ElasticLoadBalancingv2Client


def state(client: ElasticLoadBalancingv2Client, arn: str) -> str:
    return client.describe_load_balancers(LoadBalancerArns=[arn])["LoadBalancers"][0]["State"]["Code"]


def test_arns_are_those_of_network_load_balancers(make: Maker) -> None:
    balancer = make.balancer()
    assert ":loadbalancer/net/plain/" in balancer
    assert ":listener/net/plain/" in make.listener(balancer, 80, make.group())


def test_a_second_create_with_the_same_settings_answers_with_the_first(make: Maker) -> None:
    assert make.balancer() == make.balancer()


def test_a_second_create_with_other_settings_is_refused(make: Maker) -> None:
    make.balancer(Scheme="internal")
    assert refusal(lambda: make.balancer(Scheme="internet-facing")) == "DuplicateLoadBalancerName"


@pytest.mark.parametrize("name", ["internal-a", "-a", "a-", "a_b", "a" * 33])
def test_a_bad_name_is_refused(make: Maker, name: str) -> None:
    assert refusal(lambda: make.balancer(name)) == "ValidationError"


def test_an_unknown_subnet_is_refused(make: Maker) -> None:
    assert refusal(lambda: make.balancer(Subnets=["subnet-none"])) == "SubnetNotFound"


def test_the_number_of_load_balancers_is_limited(make: Maker) -> None:
    make.aws.change(quotas={"load_balancers": 1})
    make.balancer("first")
    assert refusal(lambda: make.balancer("second")) == "TooManyLoadBalancers"


def test_a_new_load_balancer_takes_time_to_become_active_and_takes_listeners_meanwhile(make: Maker) -> None:
    make.aws.change(provisioning=0.3)
    balancer = make.balancer()
    assert state(make.client, balancer) == "provisioning"
    make.listener(balancer, 80, make.group())
    eventually(lambda: state(make.client, balancer) == "active", timeout=5)


def test_deleting_a_load_balancer_that_is_gone_succeeds(make: Maker) -> None:
    balancer = make.balancer()
    for _ in range(2):
        make.client.delete_load_balancer(LoadBalancerArn=balancer)


def test_deleting_a_load_balancer_sets_its_target_groups_free(make: Maker) -> None:
    balancer, group = make.balancer(), make.group()
    make.listener(balancer, 80, group)
    make.client.delete_load_balancer(LoadBalancerArn=balancer)
    make.client.delete_target_group(TargetGroupArn=group)


def test_a_protected_load_balancer_is_not_deleted(make: Maker) -> None:
    balancer = make.balancer()
    protection: Any = [{"Key": "deletion_protection.enabled", "Value": "true"}]
    make.client.modify_load_balancer_attributes(LoadBalancerArn=balancer, Attributes=protection)
    assert refusal(lambda: make.client.delete_load_balancer(LoadBalancerArn=balancer)) == "OperationNotPermitted"


@pytest.mark.row("AL-03")
@pytest.mark.parametrize("second", ["TCP", "UDP", "TCP_UDP"])
def test_a_port_has_one_listener_whatever_the_protocol(make: Maker, second: str) -> None:
    balancer = make.balancer()
    make.listener(balancer, 80, make.group())
    other = make.group("other", Protocol=second)
    assert refusal(lambda: make.listener(balancer, 80, other, second)) == "DuplicateListener"


def test_a_listener_cannot_move_to_a_taken_port(make: Maker) -> None:
    balancer, group = make.balancer(), make.group()
    make.listener(balancer, 80, group)
    movable = make.listener(balancer, 81, group)
    assert refusal(lambda: make.client.modify_listener(ListenerArn=movable, Port=80)) == "DuplicateListener"
    make.client.modify_listener(ListenerArn=movable, Port=82)


@pytest.mark.row("PP-07")
def test_a_network_load_balancer_carries_fifty_listeners(make: Maker) -> None:
    balancer, group = make.balancer(), make.group()
    for port in range(1, 51):
        make.listener(balancer, port, group)
    assert refusal(lambda: make.listener(balancer, 51, group)) == "TooManyListeners"


@pytest.mark.parametrize("port", [65536, 70000])
def test_a_port_above_65535_is_refused(make: Maker, port: int) -> None:
    balancer, group = make.balancer(), make.group()
    assert refusal(lambda: make.listener(balancer, port, group)) == "ValidationError"


@pytest.mark.parametrize(("listener", "group"), [("TCP", "UDP"), ("UDP", "TCP"), ("TCP_UDP", "TCP")])
def test_a_listener_cannot_forward_to_a_group_of_another_protocol(make: Maker, listener: str, group: str) -> None:
    balancer, arn = make.balancer(), make.group(Protocol=group)
    assert refusal(lambda: make.listener(balancer, 80, arn, listener)) == "IncompatibleProtocols"


def test_a_target_group_serves_one_load_balancer(make: Maker) -> None:
    group = make.group()
    make.listener(make.balancer("first"), 80, group)
    second = make.balancer("second")
    assert refusal(lambda: make.listener(second, 80, group)) == "TargetGroupAssociationLimit"


def test_a_missing_load_balancer_listener_or_group_is_named_in_the_code(make: Maker) -> None:
    balancer, group = make.balancer(), make.group()
    listener = make.listener(balancer, 80, group)
    make.client.delete_listener(ListenerArn=listener)
    make.client.delete_target_group(TargetGroupArn=group)
    assert refusal(lambda: make.client.delete_listener(ListenerArn=listener)) == "ListenerNotFound"
    assert refusal(lambda: make.listener(balancer, 80, group)) == "TargetGroupNotFound"
    make.client.delete_load_balancer(LoadBalancerArn=balancer)
    assert refusal(lambda: make.listener(balancer, 80, group)) == "LoadBalancerNotFound"
