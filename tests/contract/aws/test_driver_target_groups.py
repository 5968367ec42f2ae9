"""The driver on target groups and targets: adopted, corrected or replaced by name, deleted only when unused."""

from __future__ import annotations

import pytest

from domain.port_pools.port_pool import HealthCheck
from tests.contract.aws.conftest import MINE, Driven, Driving, Maker
from workers.cloud.driver import RegisteredTarget
from workers.cloud.errors import Busy, CloudInvalid, CloudNotFound, CloudUnavailable, ForeignName, Throttled
from workers.cloud.tags import UID


@pytest.mark.row("CL-13")
@pytest.mark.parametrize("protocol", ["TCP", "UDP", "TCP_UDP"])
def test_every_protocol_is_checked_by_tcp_as_the_pool_says(drive: Driving, protocol: str) -> None:
    arn = drive.group(protocol=protocol, check=HealthCheck(port=8080, interval_seconds=20, healthy_threshold=4))
    [told] = drive.aws.client().describe_target_groups(TargetGroupArns=[arn])["TargetGroups"]
    checked = told["HealthCheckProtocol"], told["HealthCheckPort"], told["HealthCheckIntervalSeconds"]
    assert (*checked, told["HealthyThresholdCount"]) == ("TCP", "8080", 20, 4)
    assert (told["Protocol"], told["TargetType"]) == (protocol, "ip")


def test_a_created_group_carries_its_tags_from_the_start(cloud: Driven) -> None:
    arn = cloud.group()
    found = cloud.api.find_target_group("bm-30000-a")
    assert found
    assert (found.arn, found.protocol, found.port, found.vpc_id) == (arn, "TCP", 7777, cloud.vpc)
    assert (found.tags, found.load_balancer_arns) == (MINE, ())


def test_groups_are_found_by_their_arns_and_one_that_is_gone_does_not_hide_the_others(cloud: Driven) -> None:
    kept, gone = cloud.group(), cloud.group(name="bm-30001-b")
    cloud.api.delete_target_group(gone)
    [found] = cloud.api.find_target_groups([gone, kept])
    assert (found.arn, found.tags) == (kept, MINE)


def test_a_group_says_which_load_balancers_use_it(cloud: Driven) -> None:
    balancer, group = cloud.balancer(), cloud.group()
    arn = cloud.listener(balancer.arn, 30000, group)
    [found] = cloud.api.target_groups_owned("blue", "arena")
    assert found.load_balancer_arns == (balancer.arn,)
    cloud.api.delete_listener(arn)
    [found] = cloud.api.target_groups_owned("blue", "arena")
    assert found.load_balancer_arns == ()


@pytest.mark.row("BD-17")
@pytest.mark.parametrize("lose", ["error", "cut"])
def test_a_create_with_a_lost_answer_makes_one_group(drive: Driving, lose: str) -> None:
    drive.aws.fault("CreateTargetGroup", lose=lose)
    with pytest.raises(CloudUnavailable):
        drive.group()
    arn = drive.group()
    assert [each.arn for each in drive.api.target_groups_owned("blue", "arena")] == [arn]


def test_a_second_create_is_one_call(drive: Driving) -> None:
    assert drive.group() == drive.group()
    assert drive.aws.counts() == {"CreateTargetGroup": 2}


def test_another_health_check_changes_the_group_even_in_use(drive: Driving) -> None:
    group = drive.group()
    drive.listener(drive.balancer().arn, 30000, group)
    assert drive.group(check=HealthCheck(interval_seconds=20)) == group
    [told] = drive.aws.client().describe_target_groups(TargetGroupArns=[group])["TargetGroups"]
    assert told["HealthCheckIntervalSeconds"] == 20


def test_another_protocol_or_port_replaces_the_group(cloud: Driven) -> None:
    first = cloud.group()
    second = cloud.group(port=7778)
    third = cloud.group(port=7778, protocol="UDP")
    assert len({first, second, third}) == 3
    [found] = cloud.api.target_groups_owned("blue", "arena")
    assert (found.arn, found.port, found.protocol) == (third, 7778, "UDP")


def test_a_group_in_use_is_neither_replaced_nor_deleted(cloud: Driven) -> None:
    group = cloud.group()
    cloud.listener(cloud.balancer().arn, 30000, group)
    with pytest.raises(Busy):
        cloud.group(port=7778)
    with pytest.raises(Busy):
        cloud.api.delete_target_group(group)


def test_a_group_of_another_pod_or_of_nobody_is_never_replaced(drive: Driving, make: Maker) -> None:
    drive.group(tags={**MINE, UID: "uid-2"})
    make.group("bm-untagged")
    with pytest.raises(ForeignName):
        drive.group(port=7778)
    with pytest.raises(ForeignName):
        drive.group("bm-untagged", port=7778)


@pytest.mark.row("CL-07")
def test_groups_of_all_pages_are_seen_and_strangers_are_not(drive: Driving, make: Maker) -> None:
    drive.aws.change(page_size=9)
    made = {drive.group(f"bm-{n}") for n in range(45)}
    for n in range(5):
        make.group(f"foreign-{n}")
    assert {each.arn for each in drive.api.target_groups_owned("blue", "arena")} == made


@pytest.mark.row("FZ-02")
def test_deleting_what_is_gone_succeeds(drive: Driving) -> None:
    group = drive.group()
    drive.api.delete_target_group(group)
    drive.api.delete_target_group(group)
    drive.aws.fault("DeleteTargetGroup", code="TargetGroupNotFound")
    drive.api.delete_target_group(group)
    assert drive.api.find_target_group("bm-30000-a") is None


def test_targets_are_registered_and_deregistered_by_address_and_port(cloud: Driven) -> None:
    group = cloud.group()
    cloud.listener(cloud.balancer().arn, 30000, group)
    cloud.api.register(group, [("10.0.0.5", 7000)])
    cloud.api.register(group, [("10.0.0.5", 7001)])
    cloud.api.deregister(group, [("10.0.0.5", 7000)])
    assert cloud.api.targets(group) == [RegisteredTarget("10.0.0.5", 7001, "healthy")]


@pytest.mark.row("CL-01")
def test_all_targets_of_a_group_come_and_go_in_one_call(drive: Driving) -> None:
    group = drive.group()
    drive.listener(drive.balancer().arn, 30000, group)
    drive.api.register(group, [("10.0.0.5", 7000), ("10.0.0.6", 7000), ("10.0.0.7", 7000)])
    drive.api.deregister(group, [("10.0.0.5", 7000), ("10.0.0.6", 7000)])
    assert drive.api.targets(group) == [RegisteredTarget("10.0.0.7", 7000, "healthy")]
    counts = drive.aws.counts()
    assert (counts["RegisterTargets"], counts["DeregisterTargets"]) == (1, 1)


@pytest.mark.row("BD-06")
def test_a_group_takes_addresses_of_its_own_family_only(cloud: Driven) -> None:
    four, six = cloud.group(), cloud.group("bm-30001-a", family="ipv6")
    cloud.api.register(six, [("fd00::5", 7000)])
    assert [target.ip for target in cloud.api.targets(six)] == ["fd00::5"]
    for group, address in ((four, "fd00::5"), (six, "10.0.0.5")):
        with pytest.raises(CloudInvalid):
            cloud.api.register(group, [(address, 7000)])


@pytest.mark.row("BD-06")
def test_another_family_replaces_the_group(cloud: Driven) -> None:
    first, second = cloud.group(), cloud.group(family="ipv6")
    [found] = cloud.api.target_groups_owned("blue", "arena")
    assert first != second
    assert (found.arn, found.address_type) == (second, "ipv6")


def test_a_deregistration_delay_is_set_only_where_the_pool_has_one(drive: Driving) -> None:
    drive.group()
    assert "ModifyTargetGroupAttributes" not in drive.aws.counts()
    drive.aws.fault("ModifyTargetGroupAttributes", code="Throttling")
    with pytest.raises(Throttled):
        drive.group("bm-30001-a", drain=0)
    group = drive.group("bm-30001-a", drain=0)
    told = drive.aws.client().describe_target_group_attributes(TargetGroupArn=group)["Attributes"]
    assert {"Key": "deregistration_delay.timeout_seconds", "Value": "0"} in told


@pytest.mark.row("FZ-02")
def test_deregistering_what_is_gone_succeeds(cloud: Driven) -> None:
    group = cloud.group()
    cloud.api.deregister(group, [("10.0.0.5", 7000)])
    cloud.api.delete_target_group(group)
    cloud.api.deregister(group, [("10.0.0.5", 7000)])


@pytest.mark.row("BD-05")
def test_what_is_no_address_is_refused_for_good(cloud: Driven) -> None:
    with pytest.raises(CloudInvalid):
        cloud.api.register(cloud.group(), [("None", 7000)])


def test_registering_in_a_group_that_is_gone_says_so(cloud: Driven) -> None:
    group = cloud.group()
    cloud.api.delete_target_group(group)
    with pytest.raises(CloudNotFound):
        cloud.api.register(group, [("10.0.0.5", 7000)])


@pytest.mark.row("BD-17")
@pytest.mark.parametrize("lose", ["error", "cut"])
def test_a_register_with_a_lost_answer_can_be_repeated(drive: Driving, lose: str) -> None:
    group = drive.group()
    drive.aws.fault("RegisterTargets", lose=lose)
    with pytest.raises(CloudUnavailable):
        drive.api.register(group, [("10.0.0.5", 7000)])
    drive.api.register(group, [("10.0.0.5", 7000)])
    assert len(drive.api.targets(group)) == 1
