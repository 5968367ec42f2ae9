"""Waiting for a token: short waits are slept, long ones give the thread back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.fixtures.aws import Aws
from workers.cloud.call_budget import ApiClass, OverBudget
from workers.cloud.driver import LoadBalancerApi
from workers.cloud.priority import Priority


class Scripted:
    """Buckets that answer what a test wrote down, and remember who asked."""

    def __init__(self, *delays_ms: int | None) -> None:
        self.delays, self.asked = list(delays_ms), list[tuple[ApiClass, str, Priority]]()
        self.drained: list[ApiClass] = []

    def acquire(self, api_class: ApiClass, caller: str, priority: Priority) -> timedelta | None:
        self.asked.append((api_class, caller, priority))
        delay = self.delays.pop(0) if self.delays else None
        return None if delay is None else timedelta(milliseconds=delay)

    def drain(self, api_class: ApiClass) -> None:
        self.drained.append(api_class)


def for_pod(aws: Aws, buckets: Scripted, patience: timedelta | None = None) -> LoadBalancerApi:
    return aws.driver(buckets).on_behalf_of("pod/a/b", Priority.BIND, patience=patience)


def test_a_call_asks_for_a_token_of_its_class_for_its_caller(aws: Aws) -> None:
    buckets = Scripted()
    for_pod(aws, buckets).deregister("arn", [("10.0.0.1", 80)])
    assert buckets.asked == [(ApiClass.REGISTER, "pod/a/b", Priority.BIND)]


def test_a_short_wait_is_slept(aws: Aws) -> None:
    buckets = Scripted(30, 20)
    for_pod(aws, buckets).find_target_group("none")
    assert len(buckets.asked) == 3
    assert aws.counts() == {"DescribeTargetGroups": 1}


@pytest.mark.row("EV-09")
def test_who_waits_for_a_token_keeps_its_lease_meanwhile(aws: Aws) -> None:
    kept: list[timedelta] = []
    mine = aws.driver(Scripted(30, 20)).on_behalf_of("pod/a/b", Priority.BIND, kept.append)
    mine.find_target_group("none")
    assert kept == [timedelta(milliseconds=30), timedelta(milliseconds=20), aws.settings.call_timeout]


@pytest.mark.row("CL-03")
def test_a_long_wait_gives_the_thread_back_with_the_time_to_come_again(aws: Aws) -> None:
    with pytest.raises(OverBudget) as refused:
        for_pod(aws, Scripted(201)).find_target_group("none")
    assert refused.value.retry_after == timedelta(milliseconds=201)
    assert aws.counts() == {}


def test_short_waits_do_not_add_up_to_a_long_one(aws: Aws) -> None:
    with pytest.raises(OverBudget):
        for_pod(aws, Scripted(*[60] * 10)).find_target_group("none")


def test_a_patient_caller_sleeps_longer(aws: Aws) -> None:
    for_pod(aws, Scripted(300), patience=timedelta(seconds=1)).find_target_group("none")
    assert aws.counts() == {"DescribeTargetGroups": 1}


@pytest.mark.row("CL-03")
def test_every_page_pays_for_itself(aws: Aws) -> None:
    aws.change(page_size=1)
    buckets = Scripted()
    for n in range(3):
        aws.client().create_target_group(Name=f"group-{n}", Protocol="TCP", Port=80, VpcId=aws.ids.vpc, TargetType="ip")
    for_pod(aws, buckets).target_groups_owned("blue")
    assert len(buckets.asked) == aws.counts()["DescribeTargetGroups"] == 3


@pytest.mark.row("CL-04")
def test_a_throttled_call_drains_the_budget_of_its_class(aws: Aws) -> None:
    buckets = Scripted()
    aws.fault("RegisterTargets", code="Throttling")
    with pytest.raises(Exception, match="Throttling"):
        for_pod(aws, buckets).register("arn", [("10.0.0.1", 80)])
    assert buckets.drained == [ApiClass.REGISTER]
