"""A pool's life: validation, configuration, status, draining and deletion."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Interposed
from tests.support.ports.fleet import Fleet
from tests.support.ports.world_checks import check_all
from workers.kube.port_pools import PATH
from workers.port_audit.reconciler import audit


def status(fleet: Fleet, name: str = "arena") -> dict[str, Any]:
    return dict(fleet.api.get(f"{PATH}/{name}").get("status") or {})


@pytest.mark.row("PP-20")
def test_the_status_shows_every_load_balancer_and_what_is_allocated(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", endPort=30001)
    for n in range(3):
        fleet.pod(f"p{n}", "7777/UDP@arena", ip=f"10.0.0.{n + 1}")
    fleet.settle()
    fleet.queue.touch(["portpool/arena"])
    fleet.settle()
    shown, ledger = status(fleet), fleet.ledger("arena")
    assert (shown["state"], shown["capacity"], shown["allocated"], shown["waiting"]) == ("Active", 4, 3, 0)
    assert shown["epoch"] == int(ledger.epoch)
    rows = shown["loadBalancers"]
    there = {lb.name: lb for lb in fleet.driver.find_owned_load_balancers(fleet.cluster)}
    assert [(r["name"], r["arn"], r["dnsName"]) for r in rows] == [(n, lb.arn, lb.dns_name) for n, lb in there.items()]
    assert [(r["state"], r["allocated"], r["autoCreated"]) for r in rows] == [("Full", 2, True), ("Active", 1, True)]


def test_a_change_of_the_spec_during_a_run_is_not_hidden_by_the_status_of_that_run(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.sync()
    change = {"spec": {"lbPolicy": "Uniform"}}
    pools = Interposed(fleet.services.pools, "set_status", lambda: fleet.api.patch(f"{PATH}/arena", change))
    fleet.run("portpool/arena", fleet.other(pools=pools))
    fleet.settle()
    assert status(fleet)["observedGeneration"] == fleet.api.get(f"{PATH}/arena")["metadata"]["generation"] == 2


@pytest.mark.row("PP-14")
def test_an_existing_load_balancer_that_is_not_there_is_named_and_the_others_serve(fleet: Fleet, aws: Aws) -> None:
    lb = fleet.driver.create_load_balancer(f"mine-{fleet.cluster}", aws.parameters, {"made-by": "hand"})
    wrong = lb.arn[:-4] + "0000"
    fleet.pool("arena", loadBalancers=[wrong, lb.arn], autoCreate={"enabled": False})
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    assert fleet.state("a") == "Bound"
    listed = fleet.api.list("/api/v1/namespaces/default/events")["items"]
    assert [e for e in listed if e["reason"] == "LoadBalancerNotFound" and wrong in e["message"]]


@pytest.mark.row("PP-07", "PP-06", "CL-12")
def test_listeners_of_others_count_against_the_fifty(fleet: Fleet, aws: Aws) -> None:
    lb = fleet.driver.create_load_balancer(f"mine-{fleet.cluster}", aws.parameters, {"made-by": "hand"})
    for port in (30000, 80, 443):
        client = aws.client()
        group = client.create_target_group(
            Name=f"t{port}-{fleet.cluster}", Protocol="TCP", Port=1, VpcId=aws.ids.vpc, TargetType="ip"
        )["TargetGroups"][0]["TargetGroupArn"]
        client.create_listener(
            LoadBalancerArn=lb.arn,
            Port=port,
            Protocol="TCP",
            DefaultActions=[{"Type": "forward", "TargetGroupArn": group}],
        )
    fleet.pool("arena", loadBalancers=[lb.arn])
    fleet.pod("a", ",".join(f"{7000 + n}/UDP@arena" for n in range(48)), ip="10.0.0.1")
    fleet.settle()
    assert fleet.state("a") == "Bound"
    rows = fleet.shown("a")[1]
    mine = [r["port"] for r in rows if r["loadBalancer"] == lb.name]
    assert len(mine) == 47
    assert 30000 not in mine
    assert len(fleet.driver.listeners(lb.arn)) == 50
    assert "TooManyListeners" not in str(aws.refusals())


@pytest.mark.row("PP-23", "BD-01")
def test_a_pool_that_is_deleted_keeps_its_pods_and_goes_when_they_are_gone(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    fleet.api.delete(f"{PATH}/arena")
    fleet.settle()
    fleet.pod("b", "7777/UDP@arena", ip="10.0.0.2")
    fleet.settle()
    assert fleet.state("a") == "Bound"
    assert fleet.state("b") == "PoolNotAllocatable"
    assert status(fleet)["state"] == "Deleting"
    fleet.delete("a")
    fleet.settle()
    fleet.due()
    fleet.settle()
    assert fleet.driver.find_owned_load_balancers(fleet.cluster) == []
    assert fleet.driver.target_groups_owned(fleet.cluster) == []
    assert [p["metadata"]["name"] for p in fleet.api.list(PATH)["items"]] == []
    check_all(fleet, aws)


@pytest.mark.row("PP-22")
def test_deleting_a_pool_leaves_what_is_not_ours(fleet: Fleet, aws: Aws) -> None:
    mine = fleet.driver.create_load_balancer(f"mine-{fleet.cluster}", aws.parameters, {"made-by": "hand"})
    fleet.pool("arena", loadBalancers=[mine.arn], endPort=30001)
    for n in range(3):
        fleet.pod(f"p{n}", "7777/UDP@arena", ip=f"10.0.0.{n + 1}")
    fleet.settle()
    for n in range(3):
        fleet.delete(f"p{n}")
    fleet.api.delete(f"{PATH}/arena")
    fleet.settle()
    fleet.due()
    fleet.settle()
    assert [lb.name for lb in fleet.driver.find_load_balancers(arns=[mine.arn])] == [mine.name]
    assert fleet.driver.find_owned_load_balancers(fleet.cluster) == []


@pytest.mark.row("PP-18")
def test_created_load_balancers_carry_cluster_pool_and_creator(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    tags = fleet.driver.find_owned_load_balancers(fleet.cluster)[0].tags
    ours = {k.partition("/")[2]: v for k, v in tags.items()}
    assert (ours["cluster"], ours["pool"], ours["created-by"]) == (fleet.cluster, "arena", "berthmaster")


@pytest.mark.row("BD-20")
def test_a_load_balancer_deleted_by_hand_gives_no_more_ports_and_waiting_pods_move(fleet: Fleet, aws: Aws) -> None:
    """A pod meets it: it gets its port elsewhere. Pods that were bound there keep what they show; an Event says why."""
    fleet.pool("arena", endPort=30002)
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    before = fleet.shown("a")
    for listener in fleet.driver.listeners(lb.arn):
        fleet.driver.delete_listener(listener.arn)
    fleet.driver.delete_load_balancer(lb.arn)
    for n in range(2):
        fleet.pod(f"p{n}", "7777/UDP@arena", ip=f"10.0.1.{n + 1}")
    for _ in range(3):
        fleet.settle()
        fleet.due()
    fleet.settle()
    assert [fleet.state(f"p{n}") for n in range(2)] == ["Bound", "Bound"]
    there = fleet.driver.find_owned_load_balancers(fleet.cluster)
    assert {row["loadBalancer"] for n in range(2) for row in fleet.shown(f"p{n}")[1]} == {other.name for other in there}
    assert lb.arn not in {other.arn for other in there}
    assert fleet.shown("a") == before
    listed = fleet.api.list("/api/v1/namespaces/default/events")["items"]
    assert [e for e in listed if e["reason"] == "LoadBalancerNotFound" and lb.arn in e["message"]]


@pytest.mark.row("BD-20")
def test_an_empty_load_balancer_deleted_by_hand_is_noticed_by_the_audit(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", endPort=30002)
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    fleet.delete("a")
    fleet.settle()
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    fleet.driver.delete_load_balancer(lb.arn)
    audit(fleet.services)
    fleet.settle()
    assert fleet.ledger("arena").load_balancers == ()
    fleet.pod("b", "7777/UDP@arena", ip="10.0.0.2")
    fleet.settle()
    assert fleet.state("b") == "Bound"
