"""Listeners before any pod: binding is one register, unbinding one deregister, and a late call harms nobody."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Fuse, Interposed, Killed
from tests.support.ports.fleet import Fleet
from tests.support.ports.precreated import WANT, calls, existing, registered, stocked, targets
from tests.support.ports.world_checks import check_all, check_unique
from workers.cloud.tags import PRECREATED
from workers.kube.port_pools import PATH


@pytest.mark.row("PP-10")
def test_listeners_and_target_groups_exist_before_any_pod(fleet: Fleet, aws: Aws) -> None:
    arn = stocked(fleet, aws)
    listeners = fleet.driver.listeners(arn)
    assert [(x.port, x.protocol) for x in listeners] == [
        (30000, "TCP"),
        (30001, "TCP"),
        (30002, "TCP"),
        (30003, "UDP"),
        (30004, "UDP"),
    ]
    assert len({x.target_group_arn for x in listeners}) == 5
    assert all(PRECREATED in x.tags for x in listeners)
    assert fleet.ledger("arena").free == 5
    assert fleet.api.get(f"{PATH}/arena")["status"]["capacity"] == 5


@pytest.mark.row("PP-10", "CL-01")
def test_binding_is_one_register_and_unbinding_one_deregister(fleet: Fleet, aws: Aws) -> None:
    arn = stocked(fleet, aws)
    fleet.pod("a", WANT, ip="10.0.0.1")
    assert calls(aws, fleet.settle) == {"RegisterTargets": 1}
    assert fleet.state("a") == "Bound"
    assert registered(fleet, arn) == {30003: ["10.0.0.1:7777"]}
    fleet.delete("a")
    assert calls(aws, fleet.settle) == {"DeregisterTargets": 1}
    assert registered(fleet, arn) == {}
    assert fleet.owners("arena") == {}
    assert len(fleet.driver.listeners(arn)) == 5


@pytest.mark.row("PP-10", "BD-04")
def test_a_changed_address_is_followed_with_the_old_one_away(fleet: Fleet, aws: Aws) -> None:
    arn = stocked(fleet, aws)
    fleet.pod("a", WANT, ip="10.0.0.1")
    fleet.settle()
    fleet.address("a", "10.0.0.7")
    assert calls(aws, fleet.settle) == {"RegisterTargets": 1, "DeregisterTargets": 1}
    check_all(fleet, aws)
    fleet.annotate("a", ports_enabled="false")
    assert calls(aws, fleet.settle) == {"DeregisterTargets": 1}
    assert (fleet.state("a"), registered(fleet, arn)) == ("Disabled", {})
    fleet.annotate("a", ports_enabled=None)
    fleet.settle()
    check_all(fleet, aws)


@pytest.mark.row("PP-11")
def test_a_protocol_without_precreated_listeners_is_refused_by_name(fleet: Fleet, aws: Aws) -> None:
    stocked(fleet, aws, udp=0)
    fleet.pod("a", WANT, ip="10.0.0.1")
    assert calls(aws, fleet.settle) == {}
    state, rows, message = fleet.shown("a")
    assert (state, rows) == ("Failed", [])
    assert "precreate has no UDP listeners" in message
    assert fleet.ledger("arena").allocated == 0


@pytest.mark.row("PP-10")
def test_a_new_load_balancer_is_used_listener_by_listener_while_it_is_filled(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", precreate={"udp": 20})
    fleet.sync()
    fleet.drain()
    for n in range(12):
        fleet.pod(f"p{n:02}", WANT, ip=f"10.0.0.{n + 1}")
    fleet.sync()
    fleet.drain()
    fleet.scale()
    fleet.run("portpool/arena")  # one run fills ten
    for key in fleet.queued():
        if key.startswith("pod/"):
            fleet.run(key)
    bound = [n for n in range(12) if fleet.state(f"p{n:02}") == "Bound"]
    assert len(bound) == 10
    assert aws.counts()["CreateListener"] == 10
    fleet.settle()
    assert aws.counts()["CreateLoadBalancer"] == 1
    assert [fleet.state(f"p{n:02}") for n in range(12)] == ["Bound"] * 12
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    assert len(fleet.driver.listeners(lb.arn)) == 20
    check_all(fleet, aws)


@pytest.mark.row("PP-10", "SU-04")
def test_no_more_load_balancers_are_made_than_the_short_kind_needs(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", precreate={"tcp": 3, "udp": 2})
    for n in range(4):
        fleet.pod(f"p{n}", WANT, ip=f"10.0.0.{n + 1}")
    fleet.settle()
    assert aws.counts()["CreateLoadBalancer"] == 2
    assert [fleet.state(f"p{n}") for n in range(4)] == ["Bound"] * 4


@pytest.mark.row("PP-10")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(0, 12, 3))
def test_a_run_that_died_while_it_filled_is_continued(fleet: Fleet, aws: Aws, at: int, after: bool) -> None:
    arn = existing(fleet, aws)
    fleet.pool("arena", precreate={"tcp": 3}, loadBalancers=[arn], autoCreate={"enabled": False})
    fleet.sync()
    driver = Fuse(at, after).guard(fleet.driver)
    with contextlib.suppress(Killed):
        fleet.run("portpool/arena", fleet.other(driver=lambda _: driver))
    fleet.due()
    fleet.settle()
    assert [x.port for x in fleet.driver.listeners(arn)] == [30000, 30001, 30002]
    assert len(fleet.driver.target_groups_owned(fleet.cluster)) == 3
    assert fleet.ledger("arena").free == 3


@pytest.mark.row("PP-10", "CL-12")
def test_a_stranger_on_a_port_of_the_layout_is_left_alone_and_not_waited_for(fleet: Fleet, aws: Aws) -> None:
    arn, client = existing(fleet, aws), aws.client()
    group = client.create_target_group(
        Name=f"t-{fleet.cluster}", Protocol="TCP", Port=1, VpcId=aws.ids.vpc, TargetType="ip"
    )["TargetGroups"][0]["TargetGroupArn"]

    def stranger() -> None:
        actions: Any = [{"Type": "forward", "TargetGroupArn": group}]
        client.create_listener(LoadBalancerArn=arn, Port=30001, Protocol="TCP", DefaultActions=actions)

    fleet.pool("arena", precreate={"tcp": 3}, loadBalancers=[arn], autoCreate={"enabled": False})
    fleet.sync()
    fleet.run("portpool/arena", fleet.other(driver=lambda _: Interposed(fleet.driver, "ensure_target_group", stranger)))
    fleet.settle()
    fleet.due()
    fleet.settle()
    there = {x.port: x.target_group_arn == group for x in fleet.driver.listeners(arn)}
    assert there == {30000: False, 30001: True, 30002: False}
    assert fleet.ledger("arena").free == 2
    assert len(fleet.driver.target_groups_owned(fleet.cluster)) == 2


@pytest.mark.row("PP-22", "PP-23")
def test_a_deleted_pool_takes_its_precreated_listeners_along(fleet: Fleet, aws: Aws) -> None:
    arn = stocked(fleet, aws)
    fleet.pod("a", WANT, ip="10.0.0.1")
    fleet.settle()
    fleet.api.delete(f"{PATH}/arena")
    fleet.settle()
    assert len(fleet.driver.listeners(arn)) == 5  # a pod still has one
    fleet.delete("a")
    fleet.settle()
    fleet.due()
    fleet.settle()
    assert fleet.driver.listeners(arn) == []
    assert fleet.driver.target_groups_owned(fleet.cluster) == []
    assert fleet.api.list(PATH)["items"] == []


@pytest.mark.row("PP-22")
def test_a_load_balancer_that_leaves_the_pool_loses_what_nobody_holds_there(fleet: Fleet, aws: Aws) -> None:
    arn, other = stocked(fleet, aws), existing(fleet, aws, 1)
    fleet.pod("a", WANT, ip="10.0.0.1")
    fleet.settle()
    fleet.api.patch(f"{PATH}/arena", {"spec": {"loadBalancers": [other]}})
    fleet.settle()
    assert targets(fleet, arn) == {30003: ["10.0.0.1:7777"]}
    assert fleet.state("a") == "Bound"
    fleet.delete("a")
    fleet.settle()
    fleet.queue.touch(["portpool/arena"])
    fleet.settle()
    assert fleet.driver.listeners(arn) == []
    assert len(fleet.driver.listeners(other)) == 5
    assert len(fleet.driver.target_groups_owned(fleet.cluster)) == 5


@pytest.mark.row("AL-19", "AL-01", "EV-10")
@pytest.mark.parametrize("ports", ["9000/TCP@arena", None, "no such thing"])
def test_a_port_that_a_pod_asks_for_no_more_is_nobody_elses_until_it_has_left_it(
    fleet: Fleet, aws: Aws, ports: str | None
) -> None:
    """Its listener does not say whose it is, and Redis is lost before the pod's next run."""
    stocked(fleet, aws, udp=1)
    fleet.pod("a", WANT, ip="10.0.0.1")
    fleet.settle()
    fleet.annotate("a", ports=ports)
    fleet.redis.flushall()
    fleet.pod("b", WANT, ip="10.0.0.2")
    fleet.sync()
    fleet.run("portpool/arena")
    fleet.run_pod("b")
    assert fleet.state("b") != "Bound"
    check_unique(fleet)
    fleet.settle()
    unreadable = ports == "no such thing"
    assert (fleet.state("b") == "Bound", bool(fleet.shown("a")[1])) == (not unreadable, ports is not None)
    check_unique(fleet)
