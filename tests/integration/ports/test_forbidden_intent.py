"""An open intent is not carried out once the spec forbids it."""

from __future__ import annotations

import contextlib

import pytest

from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Fuse, Interposed, Killed
from tests.support.ports.fleet import Fleet
from tests.support.ports.pool_edits import create, edit, nudge
from workers.cloud.names import load_balancer_name
from workers.kube.port_pools import PATH
from workers.scale_up.intent import scale_up


def opened(fleet: Fleet) -> None:
    """An intent for slot 1 is open; its winner died before the call."""
    fleet.pool("arena", endPort=30001)
    fleet.pod("a", "7777/UDP@arena,7778/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    fleet.pod("b", "7777/UDP@arena", ip="10.0.0.2")
    fleet.sync()
    fleet.drain()
    assert fleet.requests
    driver = Fuse(0).guard(fleet.driver)
    with contextlib.suppress(Killed):
        scale_up(fleet.other(driver=lambda _: driver), *fleet.requests.pop())
    fleet.requests.clear()


@pytest.mark.parametrize("what", ["max", "off", "blocked"])
def test_a_spec_that_forbids_what_an_open_intent_wants(fleet: Fleet, aws: Aws, what: str) -> None:
    opened(fleet)
    name = fleet.driver.find_owned_load_balancers(fleet.cluster)[0].name
    lb1 = load_balancer_name(fleet.cluster, "arena", 1, "bm")
    if what == "max":
        edit(fleet, autoCreate=create(fleet, 1))
    elif what == "off":
        edit(
            fleet,
            loadBalancers=[fleet.driver.find_owned_load_balancers(fleet.cluster)[0].arn],
            autoCreate={"enabled": False},
        )
    else:
        edit(fleet, lbBlocklist=[lb1])
    fleet.settle()
    nudge(fleet)
    names = {lb.name for lb in fleet.driver.find_owned_load_balancers(fleet.cluster)}
    if what == "blocked":
        assert lb1 not in names, (names, fleet.shown("b"))
        assert fleet.state("b") == "Bound"
    else:
        assert names == {name}
        assert fleet.state("b") == "NoPortAvailable"


@pytest.mark.row("PP-22", "PP-16")
def test_a_pool_is_not_gone_before_a_load_balancer_that_is_being_created(fleet: Fleet, aws: Aws) -> None:
    """Else it would belong to a pool that nobody looks at any more."""
    fleet.pool("arena", endPort=30001)
    fleet.pod("a", "7777/UDP@arena,7778/UDP@arena", ip="10.0.0.1")
    fleet.sync()
    fleet.drain()

    def deleted() -> None:
        fleet.api.delete(f"{PATH}/arena")
        for _ in range(3):
            fleet.sync()
            fleet.drain()
            fleet.due()
        assert fleet.api.list(PATH)["items"]

    driver = Interposed(fleet.driver, "create_load_balancer", deleted)
    scale_up(fleet.other(driver=lambda _: driver), *fleet.requests.pop())
    fleet.requests.clear()
    nudge(fleet)
    assert fleet.api.list(PATH)["items"] == []
    assert fleet.driver.find_owned_load_balancers(fleet.cluster) == []
