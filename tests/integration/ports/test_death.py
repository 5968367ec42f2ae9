"""A worker dies before or after any of its calls; the next run finds what is there and ends where an undisturbed one
would.
"""

from __future__ import annotations

import contextlib

import pytest

from berthmaster.routing import pod_key
from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Fuse, Killed
from tests.support.ports.fleet import Fleet
from tests.support.ports.world_checks import check_all


def die(fleet: Fleet, key: str, at: int, after: bool) -> bool:
    """One run that dies; False when it ended before its fuse."""
    fuse = Fuse(at, after)
    driver = fuse.guard(fleet.driver)
    services = fleet.other(driver=lambda _: driver, pods=fuse.guard(fleet.services.pods))
    with contextlib.suppress(Killed):
        fleet.run(key, services)
        return False
    return True


@pytest.mark.row("BD-17", "AL-02", "EV-07", "FZ-06")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_bind_that_dies_at_any_call_is_finished_by_the_next_run(fleet: Fleet, aws: Aws, after: bool) -> None:
    fleet.pool("arena")
    fleet.pod("first", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    deaths = 0
    for at in range(20):
        name = f"p{at}"
        fleet.pod(name, "a=7777/UDP@arena, b=7778/TCP@arena", ip=f"10.0.1.{at}")
        fleet.sync()
        died = die(fleet, pod_key(fleet.namespace, name), at, after)
        deaths += died
        fleet.due()
        fleet.settle()
        assert fleet.state(name) == "Bound"
        assert len(fleet.shown(name)[1]) == 2
        if not died:
            break
    assert deaths >= 7  # two target groups, two listeners, two targets, one write on the pod
    check_all(fleet, aws)


@pytest.mark.row("AL-21", "FZ-06", "AL-17")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_release_that_dies_at_any_call_is_finished_by_the_next_run(fleet: Fleet, aws: Aws, after: bool) -> None:
    fleet.pool("arena")
    deaths = 0
    for at in range(20):
        name = f"p{at}"
        fleet.pod(name, "a=7777/UDP@arena, b=7778/TCP@arena", ip=f"10.0.1.{at}")
        fleet.settle()
        fleet.delete(name)
        fleet.sync()
        died = die(fleet, pod_key(fleet.namespace, name), at, after)
        deaths += died
        fleet.due()
        fleet.settle()
        assert fleet.owners("arena") == {}
        if not died:
            break
    assert deaths >= 4  # two listeners, two target groups
    check_all(fleet, aws)
    assert fleet.ledger("arena").allocated == 0


@pytest.mark.row("BD-17", "EV-09")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_bind_that_dies_while_its_pod_is_deleted_leaves_nothing(fleet: Fleet, aws: Aws, after: bool) -> None:
    fleet.pool("arena")
    fleet.pod("first", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    for at in range(8):
        name = f"p{at}"
        fleet.pod(name, "7777/UDP@arena", ip=f"10.0.1.{at}")
        fleet.sync()
        die(fleet, pod_key(fleet.namespace, name), at, after)
        fleet.delete(name)
        fleet.due()
        fleet.settle()
        assert set(fleet.owners("arena")) == {f"{fleet.namespace}/first"}
    check_all(fleet, aws)
