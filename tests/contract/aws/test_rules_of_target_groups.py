"""What the sandbox AWS refuses and allows about target groups, targets and tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.aws.conftest import Maker, refusal
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from mypy_boto3_elbv2 import ElasticLoadBalancingv2Client


def health(client: ElasticLoadBalancingv2Client, group: str) -> dict[tuple[str, int], str]:
    told = client.describe_target_health(TargetGroupArn=group)["TargetHealthDescriptions"]
    return {(each["Target"]["Id"], each["Target"]["Port"]): each["TargetHealth"]["State"] for each in told}


def register(make: Maker, group: str, ip: str, port: int = 7777) -> None:
    make.client.register_targets(TargetGroupArn=group, Targets=[{"Id": ip, "Port": port}])


def deregister(make: Maker, group: str, ip: str, port: int = 7777) -> None:
    make.client.deregister_targets(TargetGroupArn=group, Targets=[{"Id": ip, "Port": port}])


def test_a_second_create_with_the_same_settings_answers_with_the_first(make: Maker) -> None:
    assert make.group() == make.group()


@pytest.mark.parametrize("change", [{"Port": 7778}, {"Protocol": "UDP"}, {"HealthCheckIntervalSeconds": 20}])
def test_a_second_create_with_other_settings_is_refused(make: Maker, change: dict[str, Any]) -> None:
    make.group()
    assert refusal(lambda: make.group(**change)) == "DuplicateTargetGroupName"


def test_a_udp_group_cannot_be_checked_by_udp(make: Maker) -> None:
    assert refusal(lambda: make.group(Protocol="UDP", HealthCheckProtocol="UDP")) == "ValidationError"
    make.group(Protocol="UDP", HealthCheckProtocol="TCP", HealthCheckPort="8080")


def test_the_number_of_target_groups_is_limited(make: Maker) -> None:
    make.aws.change(quotas={"target_groups": 1})
    make.group("first")
    assert refusal(lambda: make.group("second")) == "TooManyTargetGroups"


def test_a_group_in_use_is_not_deleted(make: Maker) -> None:
    group = make.group()
    listener = make.listener(make.balancer(), 80, group)
    assert refusal(lambda: make.client.delete_target_group(TargetGroupArn=group)) == "ResourceInUse"
    make.client.delete_listener(ListenerArn=listener)
    make.client.delete_target_group(TargetGroupArn=group)


def test_targets_are_addresses_with_ports(make: Maker) -> None:
    group = make.group()
    make.listener(make.balancer(), 80, group)
    register(make, group, "10.0.0.5", 7000)
    register(make, group, "10.0.0.5", 7001)
    assert health(make.client, group) == {("10.0.0.5", 7000): "healthy", ("10.0.0.5", 7001): "healthy"}


@pytest.mark.parametrize(
    ("address", "code"), [("None", "ValidationError"), ("10.0.0.256", "ValidationError"), ("8.8.8.8", "InvalidTarget")]
)
def test_what_is_no_address_of_the_network_is_refused(make: Maker, address: str, code: str) -> None:
    group = make.group()
    assert refusal(lambda: register(make, group, address)) == code


def test_a_target_begins_initial_becomes_healthy_and_drains_before_it_goes(make: Maker) -> None:
    make.aws.change(initial=0.3, draining=0.3)
    group = make.group()
    make.listener(make.balancer(), 80, group)
    register(make, group, "10.0.0.5")
    assert health(make.client, group) == {("10.0.0.5", 7777): "initial"}
    eventually(lambda: health(make.client, group) == {("10.0.0.5", 7777): "healthy"}, timeout=5)
    deregister(make, group, "10.0.0.5")
    assert health(make.client, group) == {("10.0.0.5", 7777): "draining"}
    eventually(lambda: health(make.client, group) == {}, timeout=5)


def test_a_target_that_fails_its_check_is_unhealthy(make: Maker) -> None:
    group = make.group()
    make.listener(make.balancer(), 80, group)
    register(make, group, "10.0.0.5")
    make.aws.health("10.0.0.5", healthy=False)
    assert health(make.client, group) == {("10.0.0.5", 7777): "unhealthy"}


def test_a_target_of_a_group_without_listener_is_unused(make: Maker) -> None:
    group = make.group()
    register(make, group, "10.0.0.5")
    assert health(make.client, group) == {("10.0.0.5", 7777): "unused"}


def test_deregistering_a_stranger_succeeds(make: Maker) -> None:
    deregister(make, make.group(), "10.0.0.5")


def test_the_number_of_targets_is_limited(make: Maker) -> None:
    make.aws.change(quotas={"targets_per_target_group": 1})
    group = make.group()
    register(make, group, "10.0.0.5")
    assert refusal(lambda: register(make, group, "10.0.0.6")) == "TooManyTargets"


def test_tags_are_read_for_twenty_things_at_a_time_and_for_none_that_is_gone(make: Maker) -> None:
    groups = [make.group(f"group-{n}") for n in range(21)]
    assert len(make.client.describe_tags(ResourceArns=groups[:20])["TagDescriptions"]) == 20
    assert refusal(lambda: make.client.describe_tags(ResourceArns=groups)) == "ValidationError"
    make.client.delete_target_group(TargetGroupArn=groups[0])
    assert refusal(lambda: make.client.describe_tags(ResourceArns=groups[:2])) == "TargetGroupNotFound"


@pytest.mark.row("CL-07")
def test_every_list_comes_in_pages(make: Maker) -> None:
    make.aws.change(page_size=2)
    balancer = make.balancer("b-0")
    for n in range(1, 3):
        make.balancer(f"b-{n}")
    for n in range(3):
        make.listener(balancer, 80 + n, make.group(f"group-{n}"))
    for page in (
        make.client.describe_load_balancers(),
        make.client.describe_target_groups(),
        make.client.describe_listeners(LoadBalancerArn=balancer),
    ):
        assert page["NextMarker"]
    last = make.client.describe_listeners(LoadBalancerArn=balancer, Marker="00081")
    assert [each["Port"] for each in last["Listeners"]] == [82]
    assert "NextMarker" not in last
