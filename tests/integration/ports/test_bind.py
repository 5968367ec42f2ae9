"""One pod's way to its ports and back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Interposed
from tests.support.ports.fleet import Fleet
from workers.cloud.call_budget import OverBudget


@pytest.mark.row("BD-09", "SU-01", "SU-06", "SU-15")
def test_a_pod_gets_a_port_on_a_load_balancer_that_its_failure_created(fleet: Fleet, aws: Aws) -> None:
    fleet.pod("a", "game=7777/UDP@arena", ip="10.0.0.5")
    fleet.settle()
    assert fleet.state("a") == "PoolNotFound"
    fleet.pool("arena")
    fleet.settle()
    state, endpoints, message = fleet.shown("a")
    assert (state, message) == ("Bound", "")
    row = endpoints[0]
    assert (row["name"], row["containerPort"], row["protocol"], row["port"]) == ("game", 7777, "UDP", 30000)
    assert row["address"] == f"{row['host']}:30000"
    counts = aws.counts()
    writes = ("CreateLoadBalancer", "CreateTargetGroup", "CreateListener", "RegisterTargets")
    assert [counts.get(action, 0) for action in writes] == [1, 1, 1, 1]
    assert fleet.events("a") == ["PortsBound", "PortsNoPortAvailable", "PortsPoolNotFound"]


@pytest.mark.row("CL-03")
def test_a_bind_that_waits_for_its_token_repeats_no_call(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("first", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    before = aws.counts()
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.5")
    fleet.sync()
    for action in ("ensure_listener", "register"):
        driver = Interposed(fleet.driver, action, over_budget)
        fleet.run_pod_with("a", driver=driver)
        fleet.due()
    fleet.settle()
    assert fleet.state("a") == "Bound"
    made = {action: n - before.get(action, 0) for action, n in aws.counts().items() if n != before.get(action, 0)}
    assert made == {"CreateTargetGroup": 1, "CreateListener": 1, "RegisterTargets": 1}


def over_budget() -> None:
    raise OverBudget("no token yet", timedelta(milliseconds=1))


def test_a_pool_with_a_deregistration_delay_sets_it_on_its_target_groups(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", deregistrationDelay="90s")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.5")
    fleet.settle()
    [group] = fleet.driver.target_groups_owned(fleet.cluster)
    told = aws.client().describe_target_group_attributes(TargetGroupArn=group.arn)["Attributes"]
    assert {"Key": "deregistration_delay.timeout_seconds", "Value": "90"} in told
