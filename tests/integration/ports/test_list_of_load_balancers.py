"""Load balancers are added to a pool, taken out of it and blocked while pods are bound: nothing that is bound moves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixtures.aws import Aws
from tests.support.ports.fleet import Fleet
from tests.support.ports.ledger_recount import grow_old
from tests.support.ports.world_checks import check_all
from workers.cloud.driver import LoadBalancer
from workers.cloud.names import load_balancer_name
from workers.kube.port_pools import PATH
from workers.port_pools.removal import PUT_OFF
from workers.scale_up.sweep import sweep

OFF = {"enabled": False}


def existing(fleet: Fleet, aws: Aws, number: int = 0) -> LoadBalancer:
    return fleet.driver.create_load_balancer(f"mine{number}-{fleet.cluster}", aws.parameters, {"made-by": "hand"})


def change(fleet: Fleet, **spec: Any) -> None:
    fleet.api.patch(f"{PATH}/arena", {"spec": spec})
    fleet.settle()


def pod(fleet: Fleet, name: str) -> str:
    """The load balancer that serves it, '' if none does."""
    fleet.pod(name, "7777/UDP@arena", ip=f"10.0.0.{len(fleet.outcomes) + 1}")
    fleet.settle()
    rows = fleet.shown(name)[1]
    return str(rows[0]["loadBalancer"]) if rows else ""


def states(fleet: Fleet) -> dict[str, str]:
    sweep(fleet.services)
    fleet.settle()
    rows = fleet.api.get(f"{PATH}/arena")["status"]["loadBalancers"]
    return {row["name"]: row["state"] for row in rows}


def version(fleet: Fleet, name: str) -> str:
    return str(fleet.api.get(fleet.pod_path(name))["metadata"]["resourceVersion"])


@pytest.mark.row("PP-12")
def test_an_added_load_balancer_serves_who_waits_and_touches_nobody(fleet: Fleet, aws: Aws) -> None:
    first, second = existing(fleet, aws), existing(fleet, aws, 1)
    fleet.pool("arena", loadBalancers=[first.arn], autoCreate=OFF, endPort=30001)
    assert [pod(fleet, name) for name in "ab"] == [first.name] * 2
    assert pod(fleet, "c") == ""
    assert fleet.state("c") == "NoPortAvailable"
    before = version(fleet, "a"), fleet.shown("a")
    change(fleet, loadBalancers=[first.arn, second.arn])
    assert fleet.shown("c")[1][0]["loadBalancer"] == second.name
    assert (version(fleet, "a"), fleet.shown("a")) == before
    assert states(fleet) == {first.name: "Full", second.name: "Active"}
    check_all(fleet, aws)


@pytest.mark.row("PP-13")
def test_one_that_is_taken_out_leaves_status_and_allocator_and_keeps_its_pods(fleet: Fleet, aws: Aws) -> None:
    first, second = existing(fleet, aws), existing(fleet, aws, 1)
    fleet.pool("arena", loadBalancers=[first.arn, second.arn], autoCreate=OFF)
    assert pod(fleet, "a") == first.name
    before = version(fleet, "a"), fleet.shown("a")
    change(fleet, loadBalancers=[second.arn])
    assert states(fleet) == {second.name: "Active"}
    assert pod(fleet, "b") == second.name
    assert (version(fleet, "a"), fleet.shown("a")) == before
    listed = fleet.api.list("/api/v1/namespaces/default/events")["items"]
    assert [e for e in listed if e["reason"] == "LoadBalancerTakenOut" and first.name in e["message"]]
    fleet.delete("a")
    fleet.settle()
    assert fleet.driver.listeners(first.arn) == []
    assert len(fleet.driver.target_groups_owned(fleet.cluster)) == 1
    check_all(fleet, aws)


@pytest.mark.row("PP-13", "AL-19")
def test_pods_on_one_that_was_taken_out_keep_their_ports_after_a_loss_of_redis(fleet: Fleet, aws: Aws) -> None:
    first, second = existing(fleet, aws), existing(fleet, aws, 1)
    fleet.pool("arena", loadBalancers=[first.arn, second.arn], autoCreate=OFF)
    assert pod(fleet, "a") == first.name
    change(fleet, loadBalancers=[second.arn])
    before = fleet.shown("a")
    fleet.redis.flushall()
    fleet.settle()
    assert fleet.shown("a") == before
    assert fleet.owners("arena") == {f"{fleet.namespace}/a": [(first.name, 30000, "bound")]}
    assert states(fleet) == {second.name: "Active"}
    assert pod(fleet, "b") == second.name
    fleet.delete("a")
    fleet.settle()
    assert fleet.driver.listeners(first.arn) == []
    check_all(fleet, aws)


@pytest.mark.row("PP-13", "PP-12")
def test_one_that_comes_back_gives_the_ports_that_are_free_there(fleet: Fleet, aws: Aws) -> None:
    first, second = existing(fleet, aws), existing(fleet, aws, 1)
    fleet.pool("arena", loadBalancers=[first.arn, second.arn], autoCreate=OFF)
    assert pod(fleet, "a") == first.name
    change(fleet, loadBalancers=[second.arn])
    change(fleet, loadBalancers=[first.arn, second.arn])
    assert pod(fleet, "b") == first.name
    assert sorted(rows[0][1] for rows in fleet.owners("arena").values()) == [30000, 30001]


@pytest.mark.row("PP-15")
@pytest.mark.parametrize("by", ["name", "arn"])
def test_a_blocked_one_gives_no_ports_and_those_in_use_go_on(fleet: Fleet, aws: Aws, by: str) -> None:
    first, second = existing(fleet, aws), existing(fleet, aws, 1)
    fleet.pool("arena", loadBalancers=[first.arn, second.arn], autoCreate=OFF)
    assert pod(fleet, "a") == first.name
    before = version(fleet, "a"), fleet.shown("a")
    change(fleet, lbBlocklist=[getattr(first, by)])
    assert states(fleet) == {first.name: "Blocked", second.name: "Active"}
    assert pod(fleet, "b") == second.name
    assert (version(fleet, "a"), fleet.shown("a")) == before
    fleet.annotate("a", enabled="false")
    fleet.settle()
    fleet.annotate("a", enabled=None)
    fleet.settle()
    assert fleet.shown("a") == before[1]  # its listener and target are served as ever
    change(fleet, lbBlocklist=[])
    assert states(fleet) == {first.name: "Active", second.name: "Active"}
    assert pod(fleet, "c") == first.name
    check_all(fleet, aws)


@pytest.mark.row("PP-15")
def test_unblocking_serves_who_waits(fleet: Fleet, aws: Aws) -> None:
    first = existing(fleet, aws)
    fleet.pool("arena", loadBalancers=[first.arn], autoCreate=OFF, lbBlocklist=[first.name])
    assert pod(fleet, "a") == ""
    assert fleet.state("a") == "NoPortAvailable"
    change(fleet, lbBlocklist=[])
    assert fleet.state("a") == "Bound"


@pytest.mark.row("PP-15", "PP-16")
def test_no_load_balancer_is_created_under_a_blocked_name(fleet: Fleet, aws: Aws) -> None:
    """It would give nothing, and the demand would ask for the next."""
    names = [load_balancer_name(fleet.cluster, "arena", slot) for slot in range(3)]
    fleet.pool("arena", endPort=30001, lbBlocklist=[names[0]])
    assert [pod(fleet, f"p{n}") for n in range(3)] == [names[1]] * 2 + [names[2]]
    assert [lb.name for lb in fleet.driver.find_owned_load_balancers(fleet.cluster)] == names[1:]


@pytest.mark.row("PP-15", "PP-28")
def test_a_blocked_one_that_was_created_goes_when_it_is_empty_although_somebody_waits(fleet: Fleet, aws: Aws) -> None:
    create = {"enabled": True, "maxLoadBalancers": 1, "parameters": {"subnets": list(fleet.network.subnets)}}
    fleet.pool("arena", autoCreate=create)
    name = pod(fleet, "a")
    change(fleet, lbBlocklist=[name])
    assert pod(fleet, "b") == ""
    fleet.delete("a")
    fleet.settle()
    grow_old(fleet.redis, "{pp:arena}", 2 * PUT_OFF)
    assert states(fleet) == {}
    assert fleet.driver.find_owned_load_balancers(fleet.cluster) == []
    assert fleet.state("b") == "NoPortAvailable"
    change(fleet, lbBlocklist=[])
    sweep(fleet.services)
    fleet.settle()
    assert fleet.state("b") == "Bound"
    check_all(fleet, aws)
