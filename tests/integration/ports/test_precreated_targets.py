"""Precreated listeners outlive their owners: late calls, addresses used again, a lost Redis and things deleted by hand
leave every port with its owner's target alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from berthmaster.routing import pod_key
from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Fuse, Interposed, Killed
from tests.support.ports.fleet import Fleet
from tests.support.ports.precreated import WANT, calls, registered, stocked, targets
from tests.support.ports.world_checks import check_all
from workers.port_audit.reconciler import audit
from workers.ports.listeners.precreated import ask_to_compare


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
        check_all(fleet, aws)
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
        check_all(fleet, aws)

    @pytest.mark.row("EV-09", "BD-15")
    @pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
    def test_what_a_dead_run_may_have_registered_is_dropped_by_its_heir(
        self, fleet: Fleet, aws: Aws, after: bool
    ) -> None:
        """intent: the address was noted before the call."""
        stocked(fleet, aws, tcp=0, udp=1)
        fleet.pod("a", WANT, ip="10.0.0.1")
        fleet.sync()
        driver = Fuse(0, after).guard(fleet.driver)
        with contextlib.suppress(Killed):
            fleet.run(pod_key(fleet.namespace, "a"), fleet.other(driver=lambda _: driver))
        fleet.address("a", "10.0.0.2")
        fleet.due()
        fleet.settle()
        assert fleet.state("a") == "Bound"
        check_all(fleet, aws)

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
        check_all(fleet, aws)

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
        check_all(fleet, aws)


@pytest.mark.row("BD-15")
def test_a_stale_target_whose_address_another_pod_has_is_replaced_and_that_pod_is_left_alone(
    fleet: Fleet, aws: Aws
) -> None:
    """Rule addressfirst."""
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
    check_all(fleet, aws)


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
    check_all(fleet, aws)


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
    check_all(fleet, aws)
    fleet.delete("p0")
    assert calls(aws, fleet.settle) == {"DeregisterTargets": 1}
    check_all(fleet, aws)


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
    check_all(fleet, aws)


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
    check_all(fleet, aws)


@pytest.mark.row("BD-17", "BD-21")
def test_the_audit_finds_what_a_caller_left_that_died_with_the_call_on_the_wire(fleet: Fleet, aws: Aws) -> None:
    """Rule audittargets.

    At a port of nobody, at one of a bound pod, and instead of its own: nobody was told that there is something.
    """
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
    check_all(fleet, aws)
