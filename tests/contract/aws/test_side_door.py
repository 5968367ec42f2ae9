"""Faults, throttling, record and settings of the sandbox AWS."""

from __future__ import annotations

from urllib.error import HTTPError

import pytest

from tests.contract.aws.conftest import Maker, refusal


def test_a_fault_hits_so_many_calls_of_its_action(make: Maker) -> None:
    make.aws.fault("CreateTargetGroup", code="ServiceUnavailable", status=503, times=2)
    make.balancer()
    assert [refusal(make.group) for _ in range(2)] == ["ServiceUnavailable"] * 2
    make.group()


def test_a_fault_can_wait_for_its_turn_and_choose_its_calls(make: Maker) -> None:
    make.aws.fault("CreateTargetGroup", code="AccessDenied", match="Name=chosen", skip=1)
    make.group("other")
    make.group("chosen")
    assert refusal(lambda: make.group("chosen")) == "AccessDenied"
    make.group("chosen")


def test_a_fault_without_end_lasts_until_it_is_healed(make: Maker) -> None:
    make.aws.fault(code="InternalFailure", status=500, times=None)
    assert [refusal(make.group) for _ in range(3)] == ["InternalFailure"] * 3
    make.aws.heal()
    make.group()


def test_a_fault_by_chance_hits_some(make: Maker) -> None:
    make.aws.fault("CreateTargetGroup", lose="error", probability=0.5, times=None)
    for n in range(40):
        try:
            make.group(f"group-{n}")
        except make.client.exceptions.ClientError:
            continue
    lost = make.aws.refusals()["CreateTargetGroup InternalFailure"]
    assert 5 <= lost <= 35
    assert len(make.client.describe_target_groups()["TargetGroups"]) == 40


def test_an_order_that_is_none_is_refused(make: Maker) -> None:
    with pytest.raises(HTTPError):
        make.aws.change(nonsense=1)


@pytest.mark.row("CL-04")
def test_a_throttled_account_answers_throttling_until_tokens_are_back(make: Maker) -> None:
    make.aws.change(throttle=True, buckets={"write": {"per_second": 1, "burst": 3}})
    for n in range(3):
        make.group(f"group-{n}")
    assert refusal(lambda: make.group("group-3")) == "Throttling"
    make.client.describe_target_groups()


def test_the_record_has_counts_refusals_times_and_parameters(make: Maker) -> None:
    make.group()
    refusal(lambda: make.group(Port=7778))
    assert make.aws.counts() == {"CreateTargetGroup": 2}
    assert make.aws.refusals() == {"CreateTargetGroup DuplicateTargetGroupName": 1}
    first, second = make.aws.calls("CreateTargetGroup")
    assert (first["params"]["Port"], first["code"], first["region"]) == ("7777", "ok", "us-east-1")
    assert second["code"] == "DuplicateTargetGroupName"
    assert first["time"] < second["time"]


def test_a_reset_forgets_everything(make: Maker) -> None:
    make.aws.change(page_size=1)
    make.group()
    make.aws.fault(code="AccessDenied")
    make.aws.reset()
    assert make.aws.counts() == {}
    assert make.client.describe_target_groups()["TargetGroups"] == []


def test_regions_are_apart(make: Maker) -> None:
    make.group()
    assert make.aws.network("eu-west-1").vpc == make.ids.vpc
    assert make.aws.calls()[0]["region"] == "us-east-1"
