"""The driver on load balancers: found whole, adopted by name and tag, deleted by ARN."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.aws.conftest import MINE, TAGS, Driven, Driving, Maker
from tests.fixtures.aws import Aws
from workers.cloud.errors import CloudDenied, CloudNotFound, ForeignName
from workers.cloud.names import load_balancer_name
from workers.cloud.tags import RETIRING


def arns(drive: Driven) -> set[str]:
    return {each.arn for each in drive.api.find_owned_load_balancers("blue", "arena")}


@pytest.mark.row("PP-18")
def test_a_created_load_balancer_carries_its_tags_from_the_start(drive: Driving) -> None:
    made = drive.balancer()
    [found] = drive.api.find_load_balancers(arns=[made.arn])
    assert found.tags == TAGS
    assert drive.aws.counts().get("AddTags", 0) == 0


@pytest.mark.row("SU-07", "PP-19")
def test_a_second_create_adopts_the_first(cloud: Driven) -> None:
    assert cloud.balancer().arn == cloud.balancer().arn


def test_a_second_create_with_other_parameters_adopts_the_first_by_its_tags(cloud: Driven) -> None:
    assert cloud.balancer(scheme="internal").arn == cloud.balancer(scheme="internet-facing").arn


def test_a_stranger_with_our_name_is_never_adopted(drive: Driving, make: Maker) -> None:
    make.balancer("bm-arena-0")
    with pytest.raises(ForeignName):
        drive.balancer()
    with pytest.raises(ForeignName):
        drive.balancer(scheme="internal")


@pytest.mark.parametrize(
    ("zones", "changes", "across"), [(2, {}, "true"), (2, {"cross_zone": False}, "false"), (1, {}, "false")]
)
def test_every_zone_leads_to_the_one_target_of_a_port_where_there_are_several(
    drive: Driving, zones: int, changes: dict[str, Any], across: str
) -> None:
    made = drive.balancer(subnets=drive.parameters.subnets[:zones], **changes)
    told = drive.aws.client().describe_load_balancer_attributes(LoadBalancerArn=made.arn)["Attributes"]
    assert {"Key": "load_balancing.cross_zone.enabled", "Value": across} in told


@pytest.mark.row("PP-26", "CL-07")
def test_more_load_balancers_than_a_batch_or_a_page_are_all_found(drive: Driving) -> None:
    drive.aws.change(page_size=10)
    made = {drive.balancer(f"bm-arena-{n}").arn for n in range(25)}
    assert {each.arn for each in drive.api.find_load_balancers(arns=made)} == made
    assert arns(drive) == made


@pytest.mark.row("PP-14", "PP-27", "CL-06")
def test_missing_load_balancers_do_not_hide_the_others(cloud: Driven) -> None:
    made = [cloud.balancer(f"bm-arena-{n}").arn for n in range(22)]
    for gone in (made[3], made[21]):
        cloud.api.delete_load_balancer(gone)
    assert [each.arn for each in cloud.api.find_load_balancers(arns=made)] == [*made[:3], *made[4:21]]


@pytest.mark.row("PP-14")
def test_what_is_no_arn_does_not_hide_the_others(drive: Driving) -> None:
    made = [drive.balancer(f"bm-arena-{n}").arn for n in range(3)]
    asked = [*made[:2], "arn:of:nothing", "", made[2]]
    assert [each.arn for each in drive.api.find_load_balancers(arns=asked)] == made


def test_load_balancers_are_found_by_name(cloud: Driven) -> None:
    made = cloud.balancer()
    assert [each.arn for each in cloud.api.find_load_balancers(names=["bm-arena-0", "bm-arena-1"])] == [made.arn]


@pytest.mark.row("FZ-07")
def test_owned_means_our_cluster_and_pool(drive: Driving, make: Maker) -> None:
    ours = drive.balancer()
    other = drive.api.create_load_balancer(
        "bm-lobby-0", drive.aws.parameters, {**TAGS, "berthmaster.dev/pool": "lobby"}
    )
    make.balancer("bm-untagged")
    assert arns(drive) == {ours.arn}
    assert {each.arn for each in drive.api.find_owned_load_balancers("blue")} == {ours.arn, other.arn}
    assert drive.api.find_owned_load_balancers("green") == []


def test_nothing_asked_for_is_no_call(drive: Driving) -> None:
    assert drive.api.find_load_balancers() == []
    assert drive.aws.counts() == {}


def test_tags_are_added_to_many_things_at_once(cloud: Driven) -> None:
    balancer, group = cloud.balancer(), cloud.group()
    cloud.api.tag([balancer.arn, group], {RETIRING: "true"})
    [found] = cloud.api.find_load_balancers(arns=[balancer.arn])
    assert found.tags == {**TAGS, RETIRING: "true"}
    [owned] = cloud.api.target_groups_owned("blue", "arena")
    assert owned.tags == {**MINE, RETIRING: "true"}


def test_tagging_what_is_gone_says_so(cloud: Driven) -> None:
    balancer = cloud.balancer()
    cloud.api.delete_load_balancer(balancer.arn)
    with pytest.raises(CloudNotFound):
        cloud.api.tag([balancer.arn], {RETIRING: "true"})


@pytest.mark.row("FZ-02")
def test_deleting_what_is_gone_succeeds(drive: Driving) -> None:
    balancer = drive.balancer()
    drive.api.delete_load_balancer(balancer.arn)
    drive.api.delete_load_balancer(balancer.arn)
    drive.aws.fault("DeleteLoadBalancer", code="LoadBalancerNotFound")
    drive.api.delete_load_balancer(balancer.arn)


@pytest.mark.row("FZ-03")
def test_a_protected_load_balancer_says_that_it_is_still_there(drive: Driving) -> None:
    balancer = drive.balancer()
    drive.aws.client().modify_load_balancer_attributes(
        LoadBalancerArn=balancer.arn, Attributes=[{"Key": "deletion_protection.enabled", "Value": "true"}]
    )
    with pytest.raises(CloudDenied):
        drive.api.delete_load_balancer(balancer.arn)
    assert drive.api.find_load_balancers(arns=[balancer.arn])


@pytest.mark.row("SU-07", "BD-17")
@pytest.mark.parametrize("lose", ["error", "cut"])
def test_a_create_with_a_lost_answer_makes_one_load_balancer(aws: Aws, drive: Driving, lose: str) -> None:
    aws.fault("CreateLoadBalancer", lose=lose)
    with pytest.raises(Exception, match="CreateLoadBalancer"):
        drive.balancer(load_balancer_name("blue", "arena", 0))
    adopted = drive.balancer(load_balancer_name("blue", "arena", 0))
    assert arns(drive) == {adopted.arn}
