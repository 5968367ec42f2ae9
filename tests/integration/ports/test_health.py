"""publishWhen: Healthy: nothing is published before every target is healthy, and AWS is asked less and less often."""

from __future__ import annotations

from datetime import timedelta

import pytest

from berthmaster.routing import pod_key
from domain.kubernetes.names import PORTS_BOUND
from domain.outcome import Wait
from tests.fixtures.aws import Aws
from tests.integration.ports.test_readiness import said
from tests.support.ports.fleet import Fleet
from workers.port_audit.reconciler import audit


def waiting(fleet: Fleet, name: str = "a") -> Wait:
    outcome = fleet.outcomes[pod_key(fleet.namespace, name)]
    assert isinstance(outcome, Wait)
    return outcome


def looked(fleet: Fleet) -> None:
    """The wait is over, and what then happens."""
    fleet.due()
    fleet.drain()


@pytest.mark.row("BD-10")
def test_a_pod_is_shown_its_ports_once_all_its_targets_are_healthy(fleet: Fleet, aws: Aws) -> None:
    aws.health("10.0.0.1:7778", healthy=False)
    fleet.pool("arena", publishWhen="Healthy")
    fleet.pod("a", "7777/UDP@arena,7778/TCP@arena", ip="10.0.0.1", gates=[PORTS_BOUND])
    fleet.settle()
    state, rows, message = fleet.shown("a")
    assert (state, rows, message) == (
        "WaitBackend",
        [],
        "waiting for the target of port 30001 to be healthy, it is unhealthy",
    )
    assert said(fleet) == ("False", "WaitBackend")
    aws.health("10.0.0.1:7778", healthy=True)
    looked(fleet)
    assert fleet.state("a") == "Bound"
    assert [row["port"] for row in fleet.shown("a")[1]] == [30000, 30001]
    assert said(fleet) == ("True", "Bound")


@pytest.mark.row("BD-10")
def test_what_is_published_stays_so_and_costs_no_look_while_nothing_changes(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", publishWhen="Healthy")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    assert fleet.state("a") == "Bound"
    aws.health("10.0.0.1", healthy=False)
    before = aws.counts()
    fleet.run_pod("a")
    fleet.settle()
    assert fleet.state("a") == "Bound"
    assert aws.counts() == before


@pytest.mark.row("BD-10", "BD-14")
def test_a_new_address_is_shown_as_bound_only_once_it_is_healthy(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", publishWhen="Healthy")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    aws.health("10.0.0.2", healthy=False)
    fleet.address("a", "10.0.0.2")
    fleet.settle()
    assert fleet.state("a") == "WaitBackend"
    assert [row["target"] for row in fleet.shown("a")[1]] == ["10.0.0.2:7777"]
    aws.health("10.0.0.2", healthy=True)
    looked(fleet)
    assert fleet.state("a") == "Bound"


@pytest.mark.row("BD-10")
def test_each_wait_for_health_is_longer_up_to_a_minute_and_nothing_else_is_asked(fleet: Fleet, aws: Aws) -> None:
    aws.health("10.0.0.1", healthy=False)
    fleet.pool("arena", publishWhen="Healthy")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    before, waits = aws.counts(), [waiting(fleet).for_]
    for _ in range(5):
        looked(fleet)
        waits.append(waiting(fleet).for_)
    assert waits == [timedelta(seconds=n) for n in (10, 20, 40, 60, 60, 60)]
    after = aws.counts()
    assert {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name)} == {
        "DescribeTargetHealth": 5
    }
    assert not fleet.queued()


@pytest.mark.row("BD-10", "CL-04")
def test_a_look_that_is_throttled_is_tried_again(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", publishWhen="Healthy")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    aws.fault("DescribeTargetHealth", code="Throttling", times=2)
    fleet.settle()
    assert fleet.state("a") != "Bound"
    looked(fleet)
    looked(fleet)
    assert fleet.state("a") == "Bound"


@pytest.mark.row("BD-10")
def test_a_pool_that_does_not_ask_for_health_costs_no_look(fleet: Fleet, aws: Aws) -> None:
    aws.health("10.0.0.1", healthy=False)
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    assert fleet.state("a") == "Bound"
    assert "DescribeTargetHealth" not in aws.counts()


@pytest.mark.row("BD-10", "PP-10")
def test_a_precreated_listener_is_published_when_its_target_is_healthy(fleet: Fleet, aws: Aws) -> None:
    aws.health("10.0.0.1", healthy=False)
    fleet.pool("arena", publishWhen="Healthy", precreate={"udp": 2})
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    assert (fleet.state("a"), fleet.shown("a")[1]) == ("WaitBackend", [])
    aws.health("10.0.0.1", healthy=True)
    looked(fleet)
    fleet.settle()
    assert fleet.state("a") == "Bound"


@pytest.mark.row("BD-10", "BD-19")
def test_what_was_deleted_by_hand_while_its_health_is_awaited_is_made_again(fleet: Fleet, aws: Aws) -> None:
    aws.health("10.0.0.1", healthy=False)
    fleet.pool("arena", publishWhen="Healthy")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    [lb] = fleet.driver.find_owned_load_balancers(fleet.cluster)
    [listener] = fleet.driver.listeners(lb.arn)
    fleet.driver.delete_listener(listener.arn)
    fleet.driver.delete_target_group(listener.target_group_arn)
    looked(fleet)
    assert fleet.shown("a")[2] == "AWS DescribeTargetHealth: TargetGroupNotFound"
    audit(fleet.services)
    audit(fleet.services)
    aws.health("10.0.0.1", healthy=True)
    fleet.settle()
    fleet.due()
    fleet.settle()
    assert fleet.state("a") == "Bound"
    assert fleet.shown("a")[1][0]["port"] == 30000
