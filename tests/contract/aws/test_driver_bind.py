"""A bind and an unbind as the driver's callers do them, broken at every step and repeated from the start."""

from __future__ import annotations

from typing import Any

import pytest

from berthmaster.errors import TransientError
from tests.contract.aws.conftest import Driving
from workers.cloud.driver import RegisteredTarget
from workers.cloud.errors import CloudError
from workers.cloud.names import target_group_name

BIND, UNBIND = ("CreateTargetGroup", "RegisterTargets", "CreateListener"), ("DeleteListener", "DeleteTargetGroup")
FAULTS: list[dict[str, Any]] = [
    {"code": "Throttling"},
    {"code": "InternalFailure", "status": 500},
    {"code": "AccessDenied", "status": 403},
    {"lose": "error"},
    {"lose": "cut"},
]


def bind(drive: Driving, balancer: str) -> tuple[str, str]:
    group = drive.group(target_group_name("uid-1", "bm-arena-0", 30000))
    drive.api.register(group, [("10.0.0.5", 7777)])
    return group, drive.listener(balancer, 30000, group)


def unbind(drive: Driving, group: str, listener: str) -> None:
    drive.api.delete_listener(listener)
    drive.api.delete_target_group(group)


@pytest.mark.row("BD-17", "EV-07")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: "-".join(map(str, fault.values())))
@pytest.mark.parametrize("step", BIND)
def test_a_bind_that_failed_at_any_step_and_is_repeated_makes_everything_once(
    drive: Driving, step: str, fault: dict[str, Any]
) -> None:
    balancer = drive.balancer().arn
    drive.aws.fault(step, **fault)
    with pytest.raises(TransientError):
        bind(drive, balancer)
    group, listener = bind(drive, balancer)
    assert [(each.arn, each.target_group_arn) for each in drive.api.listeners(balancer)] == [(listener, group)]
    assert [each.arn for each in drive.api.target_groups_owned("blue", "arena")] == [group]
    assert drive.api.targets(group) == [RegisteredTarget("10.0.0.5", 7777, "healthy")]


@pytest.mark.row("FZ-02", "FZ-03", "EV-07")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: "-".join(map(str, fault.values())))
@pytest.mark.parametrize("step", UNBIND)
def test_an_unbind_that_failed_at_any_step_and_is_repeated_leaves_nothing(
    drive: Driving, step: str, fault: dict[str, Any]
) -> None:
    balancer = drive.balancer().arn
    made = bind(drive, balancer)
    drive.aws.fault(step, **fault)
    with pytest.raises(CloudError):
        unbind(drive, *made)
    unbind(drive, *made)
    assert drive.api.listeners(balancer) == []
    assert drive.api.target_groups_owned("blue", "arena") == []


@pytest.mark.row("CL-03")
def test_a_bind_is_three_calls_and_an_unbind_two(drive: Driving) -> None:
    balancer = drive.balancer().arn
    before = sum(drive.aws.counts().values())
    made = bind(drive, balancer)
    assert sum(drive.aws.counts().values()) == before + 3
    unbind(drive, *made)
    assert sum(drive.aws.counts().values()) == before + 5
