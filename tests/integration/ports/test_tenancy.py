"""Who may take ports of a pool, and how many: labels of namespaces, and the share of each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from events.kube.api import Denied
from tests.fixtures.aws import Aws
from tests.fixtures.kube import end, make_namespace
from tests.integration.ports.test_same_port import ask, holding, pools, ports
from tests.support.ports.fleet import Fleet
from tests.support.ports.world_checks import check_all
from workers.kube.port_pools import PATH

PLAYERS = {"matchLabels": {"team": "players"}}


def label(fleet: Fleet, team: str | None) -> None:
    fleet.api.patch(f"/api/v1/namespaces/{fleet.namespace}", {"metadata": {"labels": {"team": team}}})


def test_a_namespace_that_the_pool_does_not_select_gets_nothing_until_its_labels_say_so(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", allowedNamespaces=PLAYERS)
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    state, endpoints, message = fleet.shown("a")
    assert (state, endpoints) == ("PoolNotAllocatable", [])
    assert message == f"PortPool arena is not for namespace {fleet.namespace}, by its labels"
    assert (fleet.owners("arena"), fleet.ledger("arena").demand) == ({}, 0)
    assert "CreateLoadBalancer" not in aws.counts()
    label(fleet, "players")
    fleet.due()
    fleet.settle()
    assert fleet.state("a") == "Bound"
    check_all(fleet, aws)


def test_what_a_pod_holds_it_keeps_when_its_namespace_is_selected_no_more(fleet: Fleet, aws: Aws) -> None:
    label(fleet, "players")
    fleet.pool("arena", allowedNamespaces=PLAYERS)
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    label(fleet, None)
    fleet.annotate("a", ports="7777/UDP@arena,7778/UDP@arena")
    fleet.settle()
    state, endpoints, _ = fleet.shown("a")
    assert (state, [row["containerPort"] for row in endpoints]) == ("PoolNotAllocatable", [7777])


def test_one_that_waits_and_is_selected_no_more_makes_no_demand(fleet: Fleet, aws: Aws) -> None:
    label(fleet, "players")
    fleet.pool("arena", allowedNamespaces=PLAYERS)
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.sync()
    fleet.drain()
    assert fleet.ledger("arena").demand == 1
    label(fleet, None)
    fleet.queue.touch([f"pod/{fleet.namespace}/a"])
    fleet.settle()
    assert fleet.ledger("arena").demand == 0
    assert fleet.state("a") == "PoolNotAllocatable"


def test_without_the_right_to_read_namespaces_nothing_is_given_and_the_right_is_named(fleet: Fleet, aws: Aws) -> None:
    class NoRight:
        def labels(self, _: str) -> dict[str, str]:
            raise Denied(403, "Forbidden", "no")

    fleet.services = replace(fleet.services, namespaces=NoRight())  # type: ignore[arg-type]  # all that is asked of it
    fleet.pool("arena", allowedNamespaces=PLAYERS)
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    assert fleet.state("a") == "PoolNotAllocatable"
    assert "RBAC: get namespaces" in fleet.shown("a")[2]


def test_a_tenant_never_takes_another_tenants_pool_dry(fleet: Fleet, aws: Aws) -> None:
    other = make_namespace(fleet.api)
    neighbour = Fleet(fleet.redis, fleet.api, other, fleet.driver, fleet.network, fleet.cluster)
    fleet.pool("arena", endPort=30003, maxPortsPerNamespace=3, autoCreate=grown(fleet, 1))
    for n in range(6):
        fleet.pod(f"p{n}", "7777/UDP@arena", ip=f"10.0.0.{n + 1}")
    fleet.settle()
    states = [fleet.state(f"p{n}") for n in range(6)]
    assert sorted(states) == ["Bound"] * 3 + ["NoPortAvailable"] * 3
    late = next(n for n in range(6) if states[n] == "NoPortAvailable")
    assert fleet.shown(f"p{late}")[2] == (
        f"namespace {fleet.namespace} holds or waits for 3 of the 3 ports that pool arena gives a namespace,"
        " and 1 more are asked for"
    )
    assert fleet.ledger("arena").demand == 0
    neighbour.pod("b", "7777/UDP@arena", ip="10.0.1.1")
    neighbour.sync()
    neighbour.run_pod("b")
    assert neighbour.state("b") == "Bound"
    gone = next(n for n in range(6) if states[n] == "Bound")
    fleet.delete(f"p{gone}")
    fleet.settle()
    assert [fleet.state(f"p{n}") for n in range(6) if n != gone].count("Bound") == 3
    neighbour.delete("b")
    end(fleet.api, other)


def grown(fleet: Fleet, most: int) -> dict[str, Any]:
    return {"enabled": True, "maxLoadBalancers": most, "parameters": {"subnets": list(fleet.network.subnets)}}


def test_a_share_that_is_raised_lets_those_who_wait_go_on(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", maxPortsPerNamespace=1)
    for n in range(3):
        fleet.pod(f"p{n}", "7777/UDP@arena", ip=f"10.0.0.{n + 1}")
    fleet.settle()
    assert sorted(fleet.state(f"p{n}") for n in range(3)) == ["Bound", "NoPortAvailable", "NoPortAvailable"]
    fleet.api.patch(f"{PATH}/arena", {"spec": {"maxPortsPerNamespace": None}})
    fleet.settle()
    assert [fleet.state(f"p{n}") for n in range(3)] == ["Bound"] * 3
    check_all(fleet, aws)


def test_a_pod_that_asks_for_more_than_a_namespace_may_have_fails_by_name(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", maxPortsPerNamespace=1)
    fleet.pod("a", "7777/UDP@arena,7778/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    assert fleet.shown("a")[0] == "Failed"
    assert fleet.shown("a")[2] == "pool arena: 2 ports are asked for and a namespace may have 1"


def test_a_pod_that_is_gone_leaves_the_list_of_those_beyond_their_share(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", maxPortsPerNamespace=1)
    for name in ("a", "b"):
        fleet.pod(name, "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    bound = next(name for name in ("a", "b") if fleet.state(name) == "Bound")
    fleet.delete("b" if bound == "a" else "a")
    fleet.settle()
    assert fleet.redis.hlen("{pp:arena}cap") == 0
    fleet.delete(bound)
    fleet.settle()
    assert fleet.redis.hgetall("{pp:arena}spaces") == {}
    check_all(fleet, aws)


@pytest.mark.row("BD-22")
def test_retained_ports_count_against_the_share_of_their_namespace(fleet: Fleet) -> None:
    """Else pods that come and go under ever new names could take the pool dry."""
    fleet.pool("arena", maxPortsPerNamespace=1)
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1", ports_retain="30d")
    fleet.settle()
    fleet.delete("a")
    fleet.pod("b", "7777/UDP@arena", ip="10.0.0.2", ports_retain="30d")
    fleet.settle()
    assert fleet.state("b") == "NoPortAvailable"
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.3")
    fleet.settle()
    assert (fleet.state("a"), fleet.state("b")) == ("Bound", "NoPortAvailable")
    fleet.delete("a")
    fleet.settle()
    assert fleet.state("b") == "Bound"


@pytest.mark.row("BD-22")
def test_a_namespace_that_is_selected_no_more_is_handed_nothing_over_until_it_is_again(fleet: Fleet, aws: Aws) -> None:
    label(fleet, "players")
    fleet.pool("arena", allowedNamespaces=PLAYERS)
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1", ports_retain="true")
    fleet.settle()
    before = fleet.shown("a")[1][0]["port"]
    fleet.delete("a")
    label(fleet, None)
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.2", ports_retain="true")
    fleet.settle()
    assert (fleet.state("a"), fleet.owners("arena")[f"{fleet.namespace}/a"][0][2]) == ("PoolNotAllocatable", "retained")
    label(fleet, "players")
    fleet.due()
    fleet.settle()
    assert (fleet.state("a"), fleet.shown("a")[1][0]["port"]) == ("Bound", before)
    check_all(fleet, aws)


def test_the_share_of_a_namespace_holds_for_entries_of_several_pools(fleet: Fleet, aws: Aws) -> None:
    """What one pool refuses is given back in the others; when there is room again, the pod goes on."""
    pools(fleet, maxPortsPerNamespace=1)
    fleet.pod("first", "1/UDP@lobby", ip="10.0.1.1")
    fleet.settle()
    ask(fleet, "a")
    fleet.settle()
    assert fleet.state("a") == "NoPortAvailable"
    assert "1 of the 1 ports that pool lobby gives a namespace" in fleet.shown("a")[2]
    assert fleet.owners("arena") == {}
    assert fleet.ledger("lobby").demand == 0
    fleet.delete("first")
    fleet.settle()
    assert ports(fleet, "a") == {"arena": 30000, "lobby": 30000}
    check_all(fleet, aws)


def test_what_a_namespace_waits_for_in_several_pools_stays_within_its_share(fleet: Fleet, aws: Aws) -> None:
    pools(fleet, most=3, maxPortsPerNamespace=6)
    holding(fleet, "arena", 30000, 30001, 30002, 30003, 30004)
    for name in ("a", "b"):
        ask(fleet, name)
        fleet.sync()
        fleet.drain()
    assert fleet.ledger("arena").demand == 1
    fleet.settle()
    assert sorted(fleet.state(name) for name in ("a", "b")) == ["Bound", "NoPortAvailable"]
    assert len(fleet.ledger("arena").load_balancers) == 2
    check_all(fleet, aws)


def test_one_pool_that_does_not_select_the_namespace_refuses_the_entry(fleet: Fleet, aws: Aws) -> None:
    pools(fleet, allowedNamespaces={"matchLabels": {"team": "players"}})
    ask(fleet, "a")
    fleet.settle()
    assert fleet.state("a") == "PoolNotAllocatable"
    assert (fleet.owners("arena"), fleet.ledger("arena").demand) == ({}, 0)
