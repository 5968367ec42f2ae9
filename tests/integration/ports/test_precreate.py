"""Listeners before any pod: binding is one register, unbinding one deregister, and a late call harms nobody."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from events.routing import pod_key
from tests.fixtures.aws import Aws
from tests.support.fleet import Fleet
from tests.support.interruption import Fuse, Interposed, Killed
from tests.support.world_checks import check_unique
from workers.cloud.tags import PRECREATED
from workers.kube.port_pools import PATH
from workers.pools.audit import audit
from workers.ports.precreated import ask_to_compare

WANT = "7777/UDP@arena"


def existing(fleet: Fleet, aws: Aws, number: int = 0) -> str:
    name = f"mine{number}-{fleet.cluster}"
    return fleet.driver.create_load_balancer(name, aws.parameters, {"made-by": "hand"}).arn


def stocked(fleet: Fleet, aws: Aws, tcp: int = 3, udp: int = 2, **changes: Any) -> str:
    """A pool on one existing load balancer, filled; its ARN."""
    arn = existing(fleet, aws)
    off = {"enabled": False}
    fleet.pool("arena", precreate={"tcp": tcp, "udp": udp}, loadBalancers=[arn], autoCreate=off, **changes)
    fleet.settle()
    return arn


def targets(fleet: Fleet, arn: str) -> dict[int, list[str]]:
    """What is registered behind each port of a load balancer."""
    return {
        x.port: [f"{t.ip}:{t.port}" for t in fleet.driver.targets(x.target_group_arn) if t.health != "draining"]
        for x in fleet.driver.listeners(arn)
    }


def registered(fleet: Fleet, arn: str) -> dict[int, list[str]]:
    return {port: there for port, there in targets(fleet, arn).items() if there}


def calls(aws: Aws, act: Callable[[], Any]) -> dict[str, int]:
    before = aws.counts()
    act()
    return {a: n - before.get(a, 0) for a, n in aws.counts().items() if n > before.get(a, 0)}


def check(fleet: Fleet, arn: str) -> None:
    """Each bound pod is the only one behind its ports, and nobody else is behind any."""
    check_unique(fleet)
    pods = fleet.api.list(f"/api/v1/namespaces/{fleet.namespace}/pods")["items"]
    shown = [row for pod in pods for row in fleet.shown(pod["metadata"]["name"])[1]]
    assert registered(fleet, arn) == {row["port"]: [row["target"]] for row in shown if row["target"]}


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
    check(fleet, arn)
    fleet.annotate("a", ports_enabled="false")
    assert calls(aws, fleet.settle) == {"DeregisterTargets": 1}
    assert (fleet.state("a"), registered(fleet, arn)) == ("Disabled", {})
    fleet.annotate("a", ports_enabled=None)
    fleet.settle()
    check(fleet, arn)


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
    check(fleet, lb.arn)


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


class TestLateCalls:
    """The shortest traces of `stale_call.py`, forced on the real code."""

    def paused(self, fleet: Fleet, name: str, call: str, happens: Callable[[], Any]) -> None:
        driver = Interposed(fleet.driver, call, happens)
        fleet.run(pod_key(fleet.namespace, name), fleet.other(driver=lambda _: driver))

    @pytest.mark.row("EV-09", "BD-15")
    def test_a_register_after_the_port_has_another_owner_is_found_and_undone(self, fleet: Fleet, aws: Aws) -> None:
        """Refused record: the present owner of the port compares."""
        arn = stocked(fleet, aws, tcp=0, udp=1)
        fleet.pod("a", WANT, ip="10.0.0.1")
        fleet.sync()

        def succeeded() -> None:
            fleet.due()
            fleet.delete("a")
            fleet.settle()
            fleet.pod("c", WANT, ip="10.0.0.3")
            fleet.settle()
            assert fleet.state("c") == "Bound"

        self.paused(fleet, "a", "register", succeeded)
        assert registered(fleet, arn) == {30000: ["10.0.0.1:7777", "10.0.0.3:7777"]}
        fleet.settle()
        check(fleet, arn)
        assert fleet.state("c") == "Bound"

    @pytest.mark.row("EV-09", "BD-15")
    def test_a_register_at_a_port_that_is_free_by_now_is_undone_by_its_next_owner(self, fleet: Fleet, aws: Aws) -> None:
        arn = stocked(fleet, aws, tcp=0, udp=1)
        fleet.pod("a", WANT, ip="10.0.0.1")
        fleet.sync()

        def gone() -> None:
            fleet.due()
            fleet.delete("a")
            fleet.settle()

        self.paused(fleet, "a", "register", gone)
        assert registered(fleet, arn) == {30000: ["10.0.0.1:7777"]}
        fleet.pod("c", WANT, ip="10.0.0.3")
        fleet.settle()
        check(fleet, arn)

    @pytest.mark.row("EV-09", "BD-15")
    @pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
    def test_what_a_dead_run_may_have_registered_is_dropped_by_its_heir(
        self, fleet: Fleet, aws: Aws, after: bool
    ) -> None:
        """intent: the address was noted before the call."""
        arn = stocked(fleet, aws, tcp=0, udp=1)
        fleet.pod("a", WANT, ip="10.0.0.1")
        fleet.sync()
        driver = Fuse(0, after).guard(fleet.driver)
        with contextlib.suppress(Killed):
            fleet.run(pod_key(fleet.namespace, "a"), fleet.other(driver=lambda _: driver))
        fleet.address("a", "10.0.0.2")
        fleet.due()
        fleet.settle()
        assert fleet.state("a") == "Bound"
        check(fleet, arn)

    @pytest.mark.row("EV-09", "AL-18")
    def test_a_deregister_after_the_port_has_another_owner_of_that_address_is_mended(
        self, fleet: Fleet, aws: Aws
    ) -> None:
        arn = stocked(fleet, aws, tcp=0, udp=1)
        fleet.pod("a", WANT, ip="10.0.0.1")
        fleet.settle()
        fleet.delete("a")
        fleet.sync()

        def succeeded() -> None:
            fleet.due()
            fleet.settle()
            fleet.pod("c", WANT, ip="10.0.0.1")
            fleet.settle()

        self.paused(fleet, "a", "deregister", succeeded)
        assert registered(fleet, arn) == {}
        fleet.settle()
        check(fleet, arn)

    @pytest.mark.row("EV-09")
    def test_a_wish_that_comes_while_its_port_is_compared_is_served_too(self, fleet: Fleet, aws: Aws) -> None:
        """counter: the comparison that was under way does not end it."""
        arn = stocked(fleet, aws, tcp=0, udp=1)
        fleet.pod("a", WANT, ip="10.0.0.1")
        fleet.settle()
        group = fleet.driver.listeners(arn)[0].target_group_arn

        key = next(iter(fleet.owners("arena").values()))[0]

        def late() -> None:
            fleet.driver.register(group, [("10.0.0.9", 7777)])
            ask_to_compare(fleet.services, "arena", f"{key[0]}:{key[1]}")

        ask_to_compare(fleet.services, "arena", f"{key[0]}:{key[1]}")
        fleet.driver.register(group, [("10.0.0.8", 7777)])
        self.paused(fleet, "a", "deregister", late)
        fleet.settle()
        check(fleet, arn)


@pytest.mark.row("BD-15")
def test_a_stale_target_whose_address_another_pod_has_is_replaced_and_that_pod_is_left_alone(
    fleet: Fleet, aws: Aws
) -> None:
    arn = stocked(fleet, aws, tcp=0, udp=2)
    fleet.pod("b", WANT, ip="10.0.0.2")
    fleet.settle()
    theirs = fleet.shown("b")[1][0]
    free = 30000 + (theirs["port"] == 30000)
    group = next(x.target_group_arn for x in fleet.driver.listeners(arn) if x.port == free)
    fleet.driver.register(group, [("10.0.0.2", 7777)])
    lb = theirs["loadBalancer"]

    ask_to_compare(fleet.services, "arena", f"{lb}:{free}")
    fleet.pod("c", WANT, ip="10.0.0.3")
    fleet.settle()
    assert fleet.shown("b")[1] == [theirs]
    check(fleet, arn)


@pytest.mark.row("BD-16")
def test_a_port_where_another_live_pod_is_published_and_served_is_left_to_it(fleet: Fleet, aws: Aws) -> None:
    """Redis came back with an older ledger that knows nothing of b."""
    arn = stocked(fleet, aws, tcp=0, udp=2)
    fleet.pod("b", WANT, ip="10.0.0.2")
    fleet.settle()
    theirs = fleet.shown("b")[1][0]
    ledger = fleet.services.ledger("arena")
    run = ledger.open(f"{fleet.namespace}/b", "9999999999999999-x")
    run.releasing(run.entries[0])
    run.free(run.entries[0])

    ask_to_compare(fleet.services, "arena", f"{theirs['loadBalancer']}:{theirs['port']}")
    fleet.pod("c", WANT, ip="10.0.0.3")
    fleet.sync()
    fleet.run_pod("c")
    assert theirs["target"] in targets(fleet, arn)[theirs["port"]]
    fleet.redis.hdel(f"{ledger.prefix}fences", f"{fleet.namespace}/b")
    fleet.settle()
    assert fleet.shown("b")[1] == [theirs]
    assert fleet.shown("c")[1][0]["port"] != theirs["port"]
    check(fleet, arn)


@pytest.mark.row("EV-10", "AL-19")
def test_after_a_flush_every_pod_keeps_its_precreated_port_and_every_port_is_compared(fleet: Fleet, aws: Aws) -> None:
    arn = stocked(fleet, aws, tcp=0, udp=3)
    for n in range(2):
        fleet.pod(f"p{n}", WANT, ip=f"10.0.0.{n + 1}")
    fleet.settle()
    before = {n: fleet.shown(f"p{n}") for n in range(2)}
    free = next(x for x in fleet.driver.listeners(arn) if x.port == 30002)
    fleet.driver.register(free.target_group_arn, [("10.0.0.9", 7777)])  # of a run that died with Redis
    fleet.redis.flushall()
    done = calls(aws, fleet.settle)
    assert not [action for action in done if not action.startswith("Describe")]
    assert {n: fleet.shown(f"p{n}") for n in range(2)} == before
    fleet.pod("c", WANT, ip="10.0.0.3")
    fleet.settle()
    check(fleet, arn)
    fleet.delete("p0")
    assert calls(aws, fleet.settle) == {"DeregisterTargets": 1}
    check(fleet, arn)


@pytest.mark.row("BD-19")
@pytest.mark.parametrize("held", [True, False], ids=["held", "free"])
def test_a_precreated_listener_that_was_deleted_by_hand_is_made_again(fleet: Fleet, aws: Aws, held: bool) -> None:
    arn = stocked(fleet, aws, tcp=0, udp=1)
    if held:
        fleet.pod("a", WANT, ip="10.0.0.1")
        fleet.settle()
    lost = fleet.driver.listeners(arn)[0]
    fleet.driver.delete_listener(lost.arn)
    fleet.driver.delete_target_group(lost.target_group_arn)
    audit(fleet.services)
    fleet.settle()
    assert [x.port for x in fleet.driver.listeners(arn)] == [30000]
    if not held:
        fleet.pod("a", WANT, ip="10.0.0.1")
        fleet.settle()
    assert fleet.state("a") == "Bound"
    check(fleet, arn)


def sweep_up(fleet: Fleet) -> None:
    audit(fleet.services)
    fleet.settle()


@pytest.mark.row("PP-18", "BD-19")
def test_tags_of_precreated_things_that_were_removed_are_restored(fleet: Fleet, aws: Aws) -> None:
    arn = stocked(fleet, aws, tcp=1, udp=1)
    fleet.pod("a", WANT, ip="10.0.0.1")
    fleet.settle()
    before = {x.arn: (x.port, x.tags) for x in fleet.driver.listeners(arn)}
    groups = {g.arn: g.tags for g in fleet.driver.target_groups_owned(fleet.cluster)}
    for thing in [*before, *groups]:
        aws.client().remove_tags(ResourceArns=[thing], TagKeys=list(next(iter(groups.values()))))
    made = calls(aws, lambda: sweep_up(fleet))
    assert {action for action in made if not action.startswith("Describe")} == {"AddTags"}
    assert {x.arn: (x.port, x.tags) for x in fleet.driver.listeners(arn)} == before
    assert {g.arn: g.tags for g in fleet.driver.target_groups_owned(fleet.cluster)} == groups
    check(fleet, arn)


@pytest.mark.row("BD-17", "BD-21")
def test_the_audit_finds_what_a_caller_left_that_died_with_the_call_on_the_wire(fleet: Fleet, aws: Aws) -> None:
    """At a port of nobody, at one of a bound pod, and instead of its own: nobody was told that there is something."""
    arn = stocked(fleet, aws, tcp=1, udp=2)
    for n in range(2):
        fleet.pod(f"p{n}", WANT, ip=f"10.0.0.{n + 1}")
    fleet.settle()
    right = targets(fleet, arn)
    for x in fleet.driver.listeners(arn):
        fleet.driver.register(x.target_group_arn, [("10.9.9.9", 7777)])
    fleet.driver.deregister(fleet.driver.listeners(arn)[1].target_group_arn, [("10.0.0.1", 7777)])
    for _ in range(2):
        audit(fleet.services)
        fleet.settle()
    assert targets(fleet, arn) == right
    check(fleet, arn)
