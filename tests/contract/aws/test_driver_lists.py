"""Lists of the whole account: shared by those who ask at the same time, never older than the question."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import count

import pytest

from tests.contract.aws.conftest import TAGS, Driving
from workers.cloud.priority import Priority
from workers.cloud.tags import POOL


@pytest.mark.row("CL-01", "CL-08")
def test_many_pools_that_list_at_once_share_the_calls(drive: Driving) -> None:
    for n in range(3):
        drive.api.create_load_balancer(f"bm-pool-{n}", drive.aws.parameters, TAGS | {POOL: f"p{n}"})
        drive.group(f"bm-{n}", tags=TAGS | {POOL: f"p{n}"})
    before = drive.aws.counts()
    drive.aws.change(latency=0.05)

    def listed(n: int) -> tuple[list[str], list[str]]:
        mine = drive.api.on_behalf_of(f"portpool/p{n % 3}", Priority.REPAIR)
        found = mine.find_owned_load_balancers("blue", f"p{n % 3}")
        return [lb.name for lb in found], [group.name for group in mine.target_groups_owned("blue", f"p{n % 3}")]

    with ThreadPoolExecutor(60) as threads:
        told = list(threads.map(listed, range(60)))
    assert told == [([f"bm-pool-{n % 3}"], [f"bm-{n % 3}"]) for n in range(60)]
    after = drive.aws.counts()
    lists = sum(after[name] - before.get(name, 0) for name in ("DescribeLoadBalancers", "DescribeTargetGroups"))
    assert lists < 40  # of 120: two of each, and some for threads that started late


@pytest.mark.row("CL-09")
def test_a_list_knows_of_what_was_made_and_deleted_before_it_was_asked_for(drive: Driving) -> None:
    first = drive.balancer("bm-arena-0")
    assert [lb.arn for lb in drive.api.find_owned_load_balancers("blue")] == [first.arn]
    second = drive.balancer("bm-arena-1")
    assert {lb.arn for lb in drive.api.find_owned_load_balancers("blue")} == {first.arn, second.arn}
    drive.api.delete_load_balancer(first.arn)
    assert [lb.arn for lb in drive.api.find_owned_load_balancers("blue")] == [second.arn]


@pytest.mark.row("CL-09")
def test_a_listener_that_was_deleted_is_nowhere_any_more(drive: Driving) -> None:
    balancer = drive.balancer()
    arn = drive.listener(balancer.arn, 30000, drive.group())
    assert [each.arn for each in drive.api.listeners(balancer.arn)] == [arn]
    drive.api.delete_listener(arn)
    assert drive.api.listeners(balancer.arn) == []
    assert drive.api.find_listener(balancer.arn, 30000) is None


@pytest.mark.row("CL-06")
def test_what_goes_between_a_list_and_its_tags_does_not_hide_the_others(drive: Driving) -> None:
    groups = [drive.group(f"bm-{n}") for n in range(25)]
    calls = count(1)

    def keep(_: timedelta) -> None:
        if next(calls) == 2:
            drive.aws.client().delete_target_group(TargetGroupArn=groups[7])

    mine = drive.api.on_behalf_of("audit/arena", Priority.REPAIR, keep)
    assert {group.arn for group in mine.target_groups_owned("blue")} == {*groups} - {groups[7]}
