"""Workers die, calls come late, Redis is lost, things are deleted by hand: a promised port stays with its name."""

from __future__ import annotations

import contextlib
from datetime import timedelta

import pytest

from berthmaster.routing import pod_key
from domain.outcome import Wait
from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Fuse, Interposed, Killed
from tests.support.ports.fleet import Fleet
from tests.support.ports.retained import RANGE, again, bound, places, registered, states, tags
from tests.support.ports.world_checks import check_all
from workers.cloud.errors import CloudDenied, CloudInvalid
from workers.port_audit.reconciler import audit


def die(fleet: Fleet, at: int, after: bool) -> bool:
    fuse = Fuse(at, after)
    driver = fuse.guard(fleet.driver)
    with contextlib.suppress(Killed):
        fleet.run(
            pod_key(fleet.namespace, "a"), fleet.other(driver=lambda _: driver, pods=fuse.guard(fleet.services.pods))
        )
        return False
    return True


@pytest.mark.row("BD-22", "BD-17", "AL-21")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_worker_that_dies_at_any_call_costs_no_retained_port(fleet: Fleet, aws: Aws, after: bool) -> None:
    """Rules retag, tagfirst."""
    bound(fleet, ports="a=7777/UDP@arena, b=7778/TCP@arena")
    before = places(fleet)
    deaths = 0
    for at in range(12):
        fleet.delete("a")
        fleet.sync()
        deaths += die(fleet, at, after)
        fleet.due()
        fleet.settle()
        assert (states(fleet), registered(fleet)) == (["retained", "retained"], [])
        fleet.pod("a", "a=7777/UDP@arena, b=7778/TCP@arena", ip="10.0.0.2", ports_retain="true")
        fleet.sync()
        died = die(fleet, at, after)
        deaths += died
        fleet.due()
        fleet.settle()
        assert (fleet.state("a"), places(fleet)) == ("Bound", before)
        assert registered(fleet) == ["10.0.0.2:7777", "10.0.0.2:7778"]
        check_all(fleet, aws)
        if not died:
            break
    assert deaths >= 4 + 7  # list and drop of each; list, tags and target of each, one write on the pod


@pytest.mark.row("BD-22", "AL-19", "EV-10")
@pytest.mark.parametrize("when", ["bound", "retained", "taken over"])
def test_a_retained_port_survives_a_loss_of_redis(fleet: Fleet, aws: Aws, when: str) -> None:
    """Rule keeptag."""
    bound(fleet, ports=RANGE)
    before = places(fleet)
    fleet.delete("a")
    if when == "bound":
        fleet.redis.flushall()
    fleet.settle()
    if when == "taken over":
        fleet.pod("a", RANGE, ip="10.0.0.2", ports_retain="true")
        fleet.sync()
        die(fleet, 4, after=True)
    fleet.redis.flushall()
    fleet.settle()
    assert set(states(fleet)) == ({"bound"} if when == "taken over" else {"retained"})
    assert {t.split(":")[0] for t in registered(fleet)} == ({"10.0.0.2"} if when == "taken over" else set())
    if when != "taken over":
        again(fleet, ports=RANGE)
    assert (fleet.state("a"), places(fleet)) == ("Bound", before)
    check_all(fleet, aws)


@pytest.mark.row("BD-22", "BD-14")
def test_an_address_that_a_stale_run_registered_is_dropped_before_the_port_is_published_again(fleet: Fleet) -> None:
    """Shortest trace of the model without its rule `compare`."""
    bound(fleet)
    fleet.delete("a")
    fleet.settle()
    group = fleet.driver.target_groups_owned(fleet.cluster)[0]
    fleet.driver.register(group.arn, [("10.0.0.77", 7777)])  # a call that was on the wire
    again(fleet)
    assert registered(fleet) == ["10.0.0.2:7777"]


@pytest.mark.row("BD-22", "BD-23")
def test_a_paused_run_of_the_dead_pod_drops_nothing_of_its_heir(fleet: Fleet, aws: Aws) -> None:
    """It listed the targets, then another run bound the heir; its late call names what it had listed."""
    bound(fleet)
    fleet.delete("a")
    fleet.sync()

    def heir() -> None:
        fleet.due()
        again(fleet)

    fleet.run_pod_with("a", Interposed(fleet.driver, "deregister", heir))
    assert registered(fleet) == ["10.0.0.2:7777"]
    fleet.settle()
    assert (fleet.state("a"), states(fleet)) == ("Bound", ["bound"])
    check_all(fleet, aws)


@pytest.mark.row("BD-22", "BD-19")
def test_a_retained_listener_that_was_deleted_by_hand_is_made_again(fleet: Fleet, aws: Aws) -> None:
    bound(fleet)
    before = places(fleet)
    fleet.delete("a")
    fleet.settle()
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    fleet.driver.delete_listener(fleet.driver.listeners(lb.arn)[0].arn)
    again(fleet)
    fleet.due()
    fleet.settle()
    assert (fleet.state("a"), places(fleet)) == ("Bound", before)
    audit(fleet.services)
    fleet.settle()
    check_all(fleet, aws)


@pytest.mark.row("BD-22", "FZ-07")
def test_the_audit_takes_a_retained_port_for_no_orphan(fleet: Fleet) -> None:
    bound(fleet)
    fleet.delete("a")
    fleet.settle()
    before = tags(fleet)
    for _ in range(2):
        audit(fleet.other(orphan_grace=timedelta(0)))
        fleet.settle()
    assert (tags(fleet), states(fleet)) == (before, ["retained"])


@pytest.mark.row("BD-22", "AL-21")
@pytest.mark.parametrize("kind", [CloudDenied, CloudInvalid])
def test_a_refusal_of_aws_is_not_the_end_for_a_pod_that_is_gone(
    fleet: Fleet, kind: type[CloudDenied | CloudInvalid]
) -> None:
    """Nothing would wake its run again."""
    bound(fleet)
    fleet.delete("a")
    fleet.sync()
    outcome = fleet.run_pod_with("a", Interposed(fleet.driver, "deregister", lambda: _refuse(kind)))
    assert isinstance(outcome, Wait)
    assert states(fleet) == ["bound"]
    fleet.due()
    fleet.settle()
    assert (states(fleet), registered(fleet)) == (["retained"], [])


@pytest.mark.row("BD-22")
def test_a_pod_whose_retention_cannot_be_tagged_says_why(fleet: Fleet) -> None:
    bound(fleet, retain=None)
    fleet.annotate("a", ports_retain="true")
    fleet.sync()
    fleet.run_pod_with("a", Interposed(fleet.driver, "tag", _refuse))
    assert (fleet.state("a"), fleet.shown("a")[2]) == ("Failed", "AWS DeregisterTargets: AccessDenied")
    fleet.due()
    fleet.settle()
    assert fleet.state("a") == "Bound"


def _refuse(kind: type[CloudDenied | CloudInvalid] = CloudDenied) -> None:
    raise kind("DeregisterTargets", "AccessDenied", "not allowed", "AWS")
