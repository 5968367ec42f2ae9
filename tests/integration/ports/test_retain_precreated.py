"""Retained ports of precreated listeners: the listener is the pool's, the port stays with the name."""

from __future__ import annotations

import pytest

from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Interposed
from tests.support.ports.fleet import Fleet
from tests.support.ports.precreated import WANT, calls, registered, stocked
from tests.support.ports.world_checks import check_all
from workers.cloud.tags import OWNER, RETAIN

ROW = "rtp=10000-10001/UDP@arena"


def bound(fleet: Fleet, aws: Aws, ports: str = WANT, udp: int = 3) -> str:
    """On a load balancer with three UDP listeners; its ARN."""
    arn = stocked(fleet, aws, tcp=0, udp=udp)
    fleet.pod("a", ports, ip="10.0.0.1", ports_retain="true")
    fleet.settle()
    assert fleet.state("a") == "Bound"
    return arn


def again(fleet: Fleet, ports: str = WANT, retain: str = "true") -> None:
    fleet.pod("a", ports, ip="10.0.0.2", ports_retain=retain)
    fleet.settle()


def promised(fleet: Fleet, arn: str) -> dict[int, tuple[str, str]]:
    """Port -> name and seconds in the tags of those listeners that have such."""
    return {
        x.port: (x.tags[OWNER].partition("/")[2], x.tags[RETAIN])
        for x in fleet.driver.listeners(arn)
        if x.tags.get(OWNER)
    }


@pytest.mark.row("BD-22", "PP-10")
def test_a_recreated_pod_finds_its_precreated_port_again(fleet: Fleet, aws: Aws) -> None:
    arn = bound(fleet, aws, ROW)
    before = fleet.shown("a")[1][0]["port"]
    fleet.delete("a")
    fleet.settle()
    assert registered(fleet, arn) == {}
    fleet.pod("b", WANT, ip="10.0.0.9")
    fleet.settle()
    again(fleet, ROW)
    assert (fleet.state("a"), fleet.shown("a")[1][0]["port"]) == ("Bound", before)
    assert sorted(registered(fleet, arn).values()) == [["10.0.0.2:10000"], ["10.0.0.2:10001"], ["10.0.0.9:7777"]]
    check_all(fleet, aws)


@pytest.mark.row("BD-22", "CL-01")
def test_retention_costs_a_precreated_port_one_call_for_its_tags(fleet: Fleet, aws: Aws) -> None:
    stocked(fleet, aws, tcp=0)
    fleet.pod("a", WANT, ip="10.0.0.1", ports_retain="true")
    assert calls(aws, fleet.settle) == {"RegisterTargets": 1, "AddTags": 1}
    fleet.delete("a")
    assert calls(aws, fleet.settle) == {"DescribeTargetHealth": 1, "DeregisterTargets": 1}
    fleet.pod("a", WANT, ip="10.0.0.2", ports_retain="true")
    assert calls(aws, fleet.settle) == {"DescribeTargetHealth": 1, "RegisterTargets": 1}


@pytest.mark.row("BD-22", "AL-19")
def test_a_retained_precreated_port_survives_a_loss_of_redis(fleet: Fleet, aws: Aws) -> None:
    arn = bound(fleet, aws)
    before = fleet.shown("a")[1][0]["port"]
    fleet.delete("a")
    fleet.redis.flushall()
    fleet.pod("b", ROW, ip="10.0.0.9")
    fleet.settle()
    assert promised(fleet, arn) == {before: ("a", "86400")}
    again(fleet)
    assert (fleet.state("a"), fleet.shown("a")[1][0]["port"], fleet.state("b")) == ("Bound", before, "Bound")
    check_all(fleet, aws)


@pytest.mark.row("BD-22", "AL-17")
@pytest.mark.parametrize("how", ["it gives the port up", "it asks for retention no more"])
def test_a_precreated_port_that_is_promised_to_nobody_has_no_name(fleet: Fleet, aws: Aws, how: str) -> None:
    arn = bound(fleet, aws)
    fleet.annotate("a", **({"ports": None} if how == "it gives the port up" else {"ports_retain": None}))
    fleet.settle()
    assert promised(fleet, arn) == {}
    fleet.delete("a")
    fleet.settle()
    assert fleet.owners("arena") == {}
    check_all(fleet, aws)


@pytest.mark.row("BD-22", "AL-19")
def test_a_stale_promise_takes_no_port_from_a_pod_that_publishes_it(fleet: Fleet, aws: Aws) -> None:
    """Tags that were left behind by whatever: they are a hint, what is published counts."""
    arn = bound(fleet, aws)
    promise = fleet.driver.listeners(arn)[0]
    fleet.annotate("a", ports=None)
    fleet.settle()
    fleet.pod("b", WANT, ip="10.0.0.9")
    fleet.settle()
    fleet.driver.tag([promise.arn], promise.tags)
    fleet.delete("a")
    before = fleet.shown("b")
    fleet.redis.flushall()
    fleet.settle()
    assert fleet.shown("b") == before
    assert registered(fleet, arn) == {30000: ["10.0.0.9:7777"]}
    check_all(fleet, aws)


@pytest.mark.row("BD-22", "EV-09")
def test_a_deregister_of_a_run_that_was_overtaken_is_mended_for_the_heir_of_that_address(
    fleet: Fleet, aws: Aws
) -> None:
    """Its record is refused, so that the port's present owner compares."""
    arn = bound(fleet, aws)
    fleet.delete("a")
    fleet.sync()

    def back() -> None:
        fleet.due()
        fleet.pod("a", WANT, ip="10.0.0.1", ports_retain="true")
        fleet.settle()
        assert fleet.state("a") == "Bound"

    fleet.run_pod_with("a", Interposed(fleet.driver, "deregister", back))
    assert registered(fleet, arn) == {}
    fleet.settle()
    assert list(registered(fleet, arn).values()) == [["10.0.0.1:7777"]]
    check_all(fleet, aws)
