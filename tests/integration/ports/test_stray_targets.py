"""Targets that nobody recorded, or that somebody took away: a run of the pod compares, at the audit's wish."""

from __future__ import annotations

import pytest

from berthmaster.routing import pod_key
from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Interposed
from tests.support.ports.fleet import Fleet
from tests.support.ports.tampered import bound, listeners, once, shown, sound
from workers.cloud.driver import Listener
from workers.cloud.tags import WANT
from workers.port_audit.reconciler import audit


@pytest.mark.row("BD-17", "BD-21")
def test_a_target_of_a_late_call_is_deregistered_by_a_run_of_the_pod(fleet: Fleet, aws: Aws) -> None:
    """Rule askcomparison."""
    before = bound(fleet)
    groups = {
        listener.target_group_arn: fleet.driver.targets(listener.target_group_arn) for listener in listeners(fleet)
    }
    for arn in groups:
        fleet.driver.register(arn, [("10.9.9.9", 4242)])
    for _ in range(2):
        once(fleet)
    for arn, targets in groups.items():
        assert [t for t in fleet.driver.targets(arn) if t.health != "draining"] == targets
    assert shown(fleet) == before
    asked = aws.counts()["DescribeTargetHealth"]
    fleet.queue.touch([pod_key(fleet.namespace, "p0")])
    fleet.run_pod("p0")
    assert aws.counts()["DescribeTargetHealth"] == asked  # the wish is over


@pytest.mark.row("BD-17", "BD-21")
def test_a_target_deregistered_by_hand_is_registered_again(fleet: Fleet, aws: Aws) -> None:
    before = bound(fleet)
    for listener in listeners(fleet):
        for target in fleet.driver.targets(listener.target_group_arn):
            fleet.driver.deregister(listener.target_group_arn, [(target.ip, target.port)])
    once(fleet)
    for listener in listeners(fleet):
        assert [t.health for t in fleet.driver.targets(listener.target_group_arn)] in (["initial"], ["healthy"])
    assert shown(fleet) == before


@pytest.mark.row("BD-17", "BD-21")
@pytest.mark.parametrize("call", ["register", "deregister"])
def test_a_run_that_follows_its_pods_address_loses_nothing_to_an_audit(fleet: Fleet, aws: Aws, call: str) -> None:
    """The address was there already, from a dead caller: only the run knows that it is right by now."""
    bound(fleet, 1)
    for listener in listeners(fleet):
        fleet.driver.register(listener.target_group_arn, [("10.0.0.9", listener_port(listener))])
    audit(fleet.services)
    fleet.address("p0", "10.0.0.9")
    fleet.sync()
    fleet.run_pod_with("p0", Interposed(fleet.driver, call, lambda: audit(fleet.services)))
    once(fleet)
    assert [row["target"] for row in fleet.shown("p0")[1]] == ["10.0.0.9:7777", "10.0.0.9:7778"]
    for listener in listeners(fleet):
        there = [t for t in fleet.driver.targets(listener.target_group_arn) if t.health != "draining"]
        assert [(t.ip, t.port) for t in there] == [("10.0.0.9", listener_port(listener))]
    sound(fleet, aws)


def listener_port(listener: Listener) -> int:
    return int(listener.tags[WANT].partition("/")[0])


def test_only_so_many_target_groups_are_looked_at_a_period_and_all_have_their_turn(fleet: Fleet, aws: Aws) -> None:
    bound(fleet)
    looked = []
    for _ in range(4):
        before = aws.counts().get("DescribeTargetHealth", 0)
        audit(fleet.other(audit_targets=4))
        looked.append(aws.counts()["DescribeTargetHealth"] - before)
    assert looked == [4, 4, 4, 4]
    for listener in listeners(fleet):
        fleet.driver.register(listener.target_group_arn, [("10.9.9.9", 4242)])
    audit(fleet.other(audit_targets=3))
    fleet.settle()
    assert not [t for each in listeners(fleet) for t in fleet.driver.targets(each.target_group_arn) if strange(t)][3:]


def strange(target: object) -> bool:
    return getattr(target, "ip", "") == "10.9.9.9" and getattr(target, "health", "") != "draining"
