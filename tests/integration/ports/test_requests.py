"""What a pod may ask for: ports in a row, one entry in several pools, a request that changes while the pod lives."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixtures.aws import Aws
from tests.support.fleet import Fleet
from tests.support.world_checks import check_all


def rows(fleet: Fleet, name: str) -> dict[tuple[str, str], dict[str, Any]]:
    """(name, pool) -> published endpoint."""
    return {(row["name"], row["pool"]): row for row in fleet.shown(name)[1]}


def ports(fleet: Fleet, name: str) -> dict[tuple[str, str], int]:
    return {key: row["port"] for key, row in rows(fleet, name).items()}


@pytest.mark.row("PP-08", "BD-09")
def test_a_range_is_ports_in_a_row_of_one_load_balancer_shown_as_one_endpoint(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("first", "7777/UDP@arena", ip="10.0.0.4")
    fleet.settle()
    fleet.pod("a", "rtp=10000-10009/UDP@arena", ip="10.0.0.5")
    fleet.settle()
    (row,) = fleet.shown("a")[1]
    assert (row["port"], row["endPort"], row["containerPort"]) == (30001, 30010, 10000)
    assert (row["target"], row["status"]) == ("10.0.0.5:10000", "Ready")
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    listeners = {listener.port: listener for listener in fleet.driver.listeners(lb.arn)}
    for n in range(10):
        targets = fleet.driver.targets(listeners[30001 + n].target_group_arn)
        assert [(t.ip, t.port) for t in targets] == [("10.0.0.5", 10000 + n)]
    check_all(fleet, aws)


@pytest.mark.row("AL-09")
def test_an_entry_of_several_pools_gets_a_port_in_each(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pool("lobby", startPort=40000, endPort=40999)
    fleet.pod("a", "game=7777/UDP@arena+lobby", ip="10.0.0.5")
    fleet.settle()
    assert ports(fleet, "a") == {("game", "arena"): 30000, ("game", "lobby"): 40000}
    check_all(fleet, aws)


@pytest.mark.row("SU-01", "SU-12")
def test_free_ports_that_are_not_in_a_row_keep_no_pool_from_growing(fleet: Fleet) -> None:
    """In number they would serve the range, so that the demand alone asks for nothing."""
    fleet.pool("arena", endPort=30005)
    for n in range(6):
        fleet.pod(f"p{n}", "7777/UDP@arena", ip=f"10.0.1.{n + 1}")
    fleet.settle()
    holes = [n for n in range(6) if ports(fleet, f"p{n}")["7777-udp", "arena"] % 2]
    for n in holes:
        fleet.delete(f"p{n}")
    fleet.settle()
    fleet.pod("a", "rtp=10-12/UDP@arena", ip="10.0.0.5")
    fleet.settle()
    row = rows(fleet, "a")["rtp", "arena"]
    assert (row["port"], row["endPort"]) == (30000, 30002)
    assert len(fleet.ledger("arena").load_balancers) == 2


@pytest.mark.row("SU-12")
def test_a_range_beyond_a_load_balancer_is_refused_and_creates_none(fleet: Fleet) -> None:
    fleet.pool("arena", endPort=30009)
    fleet.pod("a", "rtp=100-110/UDP@arena", ip="10.0.0.5")
    fleet.settle()
    assert fleet.shown("a") == (
        "Failed",
        [],
        "pool arena: 11 ports in a row are asked for and a load balancer of the pool has 10",
    )
    assert fleet.ledger("arena").load_balancers == ()
