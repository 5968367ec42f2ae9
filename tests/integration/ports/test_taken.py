"""The ledger gave a port on which AWS has a listener already: whose it is decides who gives way."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixtures.aws import Aws
from tests.support.ports.fleet import Fleet
from tests.support.ports.world_checks import check_all
from workers.cloud.driver import GroupSettings
from workers.cloud.tags import CLUSTER, LOAD_BALANCER, OWNER, POOL, PORT, UID, WANT


def listening(fleet: Fleet, aws: Aws, port: int, tags: dict[str, str]) -> str:
    """A listener that somebody made on the pool's first load balancer; its ARN."""
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    name = f"bm-x{port}-{fleet.cluster}"
    group = fleet.driver.ensure_target_group(name, "TCP", 1, GroupSettings(aws.ids.vpc), tags or {"made-by": "hand"})
    return fleet.driver.ensure_listener(lb.arn, port, "TCP", group, tags or {"made-by": "hand"})


def ours(fleet: Fleet, port: int, owner: str, uid: str, **more: str) -> dict[str, str]:
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    place = {LOAD_BALANCER: lb.name, PORT: str(port), WANT: "7777/UDP"}
    return {CLUSTER: fleet.cluster, POOL: "arena", OWNER: f"{fleet.namespace}/{owner}", UID: uid} | place | more


def one_bound(fleet: Fleet) -> None:
    fleet.pool("arena")
    fleet.pod("first", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()


def ports_of(fleet: Fleet, name: str) -> list[int]:
    return [row["port"] for row in fleet.shown(name)[1]]


@pytest.mark.row("PP-07", "AL-12")
def test_a_strangers_listener_is_never_touched_and_the_pod_gets_another_port(fleet: Fleet, aws: Aws) -> None:
    one_bound(fleet)
    theirs = listening(fleet, aws, 30001, {})
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.2")
    fleet.settle()
    assert ports_of(fleet, "a") == [30002]
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    assert theirs in {listener.arn for listener in fleet.driver.listeners(lb.arn)}
    known = fleet.ledger("arena").load_balancers[0]
    assert (known.foreign, known.capacity, known.used) == ((30001,), 49, 2)


def test_a_listener_of_another_cluster_or_pool_is_a_strangers(fleet: Fleet, aws: Aws) -> None:
    one_bound(fleet)
    uid = fleet.api.get(fleet.pod_path("first"))["metadata"]["uid"]
    kept = [
        listening(fleet, aws, 30001, ours(fleet, 30001, "first", uid, **{CLUSTER: "another"})),
        listening(fleet, aws, 30002, ours(fleet, 30002, "first", uid, **{POOL: "lobby"})),
    ]
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.2")
    fleet.settle()
    assert ports_of(fleet, "a") == [30003]
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    assert set(kept) <= {listener.arn for listener in fleet.driver.listeners(lb.arn)}


@pytest.mark.row("BD-17")
def test_a_listener_of_a_pod_that_is_gone_makes_way(fleet: Fleet, aws: Aws) -> None:
    one_bound(fleet)
    listening(fleet, aws, 30001, ours(fleet, 30001, "gone", "uid-of-nobody"))
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.2")
    fleet.sync()
    fleet.run_pod("a")
    fleet.due()
    fleet.settle()
    assert ports_of(fleet, "a") == [30001]


def test_a_listener_of_a_live_pod_that_publishes_the_port_stays_and_the_entry_moves_to_it(
    fleet: Fleet, aws: Aws
) -> None:
    """The ledger is an old copy: it has forgotten a pod whose annotation and tag agree."""
    one_bound(fleet)
    fleet.delete("first")
    fleet.settle()
    old = copied(fleet)
    fleet.pod("second", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    put_back(fleet, old)
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.2")
    fleet.sync()
    fleet.run_pod("a")
    fleet.due()
    fleet.settle()
    assert ports_of(fleet, "second") == [30000]
    assert ports_of(fleet, "a") == [30001]
    assert len(fleet.owners("arena")) == 2
    check_all(fleet, aws)


def copied(fleet: Fleet) -> dict[bytes, Any]:
    return {key: fleet.redis.dump(key) for key in fleet.redis.scan_iter("{pp:arena}*")}


def put_back(fleet: Fleet, old: dict[bytes, Any]) -> None:
    fleet.redis.delete(*fleet.redis.scan_iter("{pp:arena}*"))
    for key, value in old.items():
        fleet.redis.restore(key, 0, value)


@pytest.mark.row("FZ-02", "FZ-04")
@pytest.mark.parametrize("what", ["listener", "group", "load balancer"])
def test_what_was_deleted_by_hand_does_not_keep_the_rest_from_going(fleet: Fleet, aws: Aws, what: str) -> None:
    one_bound(fleet)
    fleet.pod("a", "a=7777/UDP@arena,b=7778/TCP@arena,c=7779/TCP@arena", ip="10.0.0.2")
    fleet.settle()
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    mine = [listener for listener in fleet.driver.listeners(lb.arn) if listener.port > 30000]
    fleet.driver.delete_listener(mine[1].arn)
    if what == "group":
        fleet.driver.delete_target_group(mine[1].target_group_arn)
    if what == "load balancer":
        fleet.driver.delete_load_balancer(lb.arn)
    fleet.delete("a")
    fleet.settle()
    assert set(fleet.owners("arena")) == {f"{fleet.namespace}/first"}
    assert len(fleet.driver.target_groups_owned(fleet.cluster)) == 1


@pytest.mark.row("CL-12")
def test_a_pod_that_aws_refuses_does_not_keep_others_from_binding(fleet: Fleet, aws: Aws) -> None:
    one_bound(fleet)
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.2")
    fleet.pod("b", "7777/UDP@arena", ip="10.0.0.3")
    aws.fault("CreateTargetGroup", code="TooManyTargetGroups", times=1)
    fleet.sync()
    fleet.run_pod("a")
    fleet.run_pod("b")
    state, _, message = fleet.shown("a")
    assert (state, message) == ("Allocated", "AWS CreateTargetGroup: TooManyTargetGroups")
    assert fleet.state("b") == "Bound"
    fleet.due()
    fleet.settle()
    assert fleet.state("a") == "Bound"


@pytest.mark.row("CL-04")
def test_a_throttled_call_is_tried_again_and_is_no_failure(fleet: Fleet, aws: Aws) -> None:
    one_bound(fleet)
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.2")
    aws.fault("CreateListener", code="Throttling", times=2)
    fleet.sync()
    fleet.drain()
    for _ in range(3):
        fleet.due()
        fleet.settle()
    assert fleet.state("a") == "Bound"
    assert fleet.events("a").count("PortsFailed") == 0


@pytest.mark.row("BD-08")
def test_nothing_is_published_before_every_port_is_bound(fleet: Fleet, aws: Aws) -> None:
    one_bound(fleet)
    fleet.pod("a", "a=7777/UDP@arena,b=7778/TCP@arena", ip="10.0.0.2")
    aws.fault("RegisterTargets", code="AccessDenied", skip=1, times=1)
    fleet.sync()
    fleet.run_pod("a")
    state, endpoints, message = fleet.shown("a")
    assert (state, endpoints) == ("Failed", [])
    assert "AccessDenied" in message
    fleet.due()
    fleet.settle()
    assert fleet.state("a") == "Bound"
    assert len(fleet.shown("a")[1]) == 2


@pytest.mark.row("BD-05", "BD-07")
def test_the_listener_is_there_before_the_pod_has_an_address(fleet: Fleet, aws: Aws) -> None:
    one_bound(fleet)
    fleet.pod("a", "7777/UDP@arena")
    fleet.settle()
    assert fleet.state("a") == "WaitBackend"
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    assert {listener.port for listener in fleet.driver.listeners(lb.arn)} == {30000, 30001}
    fleet.address("a", "10.0.0.2")
    fleet.settle()
    group = fleet.driver.find_listener(lb.arn, 30001)
    assert group
    assert [(t.ip, t.port) for t in fleet.driver.targets(group.target_group_arn)] == [("10.0.0.2", 7777)]
    assert fleet.state("a") == "Bound"
