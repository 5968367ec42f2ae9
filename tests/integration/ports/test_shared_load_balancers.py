"""Several pools, and strangers, on one load balancer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fixtures.aws import Aws
from tests.integration.ports.test_pool_status import by_hand, shown
from tests.support.ports.fleet import Fleet
from tests.support.ports.world_checks import check_all
from workers.cloud.driver import LoadBalancer
from workers.kube.port_pools import PATH
from workers.port_audit.reconciler import audit

ALONE: dict[str, Any] = {"autoCreate": {"enabled": False}}


def stranger(fleet: Fleet, aws: Aws, lb: LoadBalancer, port: int) -> str:
    """A listener by hand; its ARN."""
    group: Any = aws.client().create_target_group(
        Name=f"t{port}-{fleet.cluster}", Protocol="TCP", Port=1, VpcId=aws.ids.vpc, TargetType="ip"
    )["TargetGroups"][0]
    actions: Any = [{"Type": "forward", "TargetGroupArn": group["TargetGroupArn"]}]
    made = aws.client().create_listener(LoadBalancerArn=lb.arn, Port=port, Protocol="TCP", DefaultActions=actions)
    return made["Listeners"][0]["ListenerArn"]


def ports_of(fleet: Fleet, name: str) -> list[tuple[str, int]]:
    return [(row["loadBalancer"], row["port"]) for row in fleet.shown(name)[1]]


@pytest.mark.row("PP-24", "PP-21")
def test_the_younger_of_two_overlapping_pools_gives_no_ports_until_the_older_is_gone(fleet: Fleet, aws: Aws) -> None:
    lb = by_hand(fleet, aws)
    fleet.pool("arena", loadBalancers=[lb.arn], **ALONE)
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    fleet.pool("lobby", loadBalancers=[lb.arn], startPort=30500, endPort=31500, **ALONE)
    fleet.pod("b", "7777/UDP@lobby", ip="10.0.0.2")
    fleet.settle()
    why = f"PortPool arena uses load balancer {lb.arn}, too: its ports 30000 to 30999 overlap with 30500 to 31500"
    assert fleet.shown("b") == ("PoolNotAllocatable", [], f"PortPool lobby gives no ports: {why}")
    assert fleet.owners("lobby") == {}
    assert shown(fleet, "lobby")[1]["Valid"] == f"False Conflict: {why}"
    assert shown(fleet, "arena")[1]["Valid"] == "True Accepted: "
    assert fleet.state("a") == "Bound"
    fleet.delete("a")
    fleet.settle()
    fleet.api.delete(f"{PATH}/arena")
    fleet.settle()
    fleet.queue.touch(["portpool/lobby"])  # as the sweep does
    fleet.settle()
    assert fleet.state("b") == "Bound"
    assert shown(fleet, "lobby")[1]["Valid"] == "True Accepted: "
    check_all(fleet, aws)


@pytest.mark.row("PP-24")
def test_an_older_pool_that_comes_to_the_load_balancer_of_a_younger_one_takes_over_and_nothing_bound_moves(
    fleet: Fleet, aws: Aws
) -> None:
    first, second = by_hand(fleet, aws), by_hand(fleet, aws, "other")
    fleet.pool("arena", loadBalancers=[first.arn], **ALONE)
    fleet.settle()
    fleet.pool("lobby", loadBalancers=[second.arn], **ALONE)
    fleet.pod("b", "7777/UDP@lobby", ip="10.0.0.2")
    fleet.settle()
    fleet.api.patch(f"{PATH}/arena", {"spec": {"loadBalancers": [second.arn]}})
    fleet.settle()
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.pod("c", "7777/UDP@lobby", ip="10.0.0.3")
    fleet.settle()
    assert ports_of(fleet, "b") == [(second.name, 30000)]
    assert ports_of(fleet, "a") == [(second.name, 30001)]
    assert fleet.state("c") == "PoolNotAllocatable"
    check_all(fleet, aws)


@pytest.mark.row("PP-24")
def test_two_overlapping_pools_that_do_not_know_of_each_other_yet_give_no_port_twice(fleet: Fleet, aws: Aws) -> None:
    """Both were configured before either saw the other: AWS takes one listener a port, the other pod goes on."""
    lb = by_hand(fleet, aws)
    for name in ("arena", "lobby"):
        fleet.pool(name, loadBalancers=[lb.arn], **ALONE)
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.pod("b", "7777/UDP@lobby", ip="10.0.0.2")
    fleet.sync()
    for name in ("arena", "lobby"):
        fleet.services.pool_names.remove("arena")
        fleet.run(f"portpool/{name}")
    for name in ("a", "b"):
        fleet.run_pod(name)
    assert ports_of(fleet, "a") == [(lb.name, 30000)]
    assert ports_of(fleet, "b") == [(lb.name, 30001)]
    check_all(fleet, aws)


@pytest.mark.row("PP-24", "PP-07")
def test_disjoint_pools_share_the_listeners_of_a_load_balancer(fleet: Fleet, aws: Aws) -> None:
    lb = by_hand(fleet, aws)
    fleet.pool("arena", loadBalancers=[lb.arn], listenerQuota=5, **ALONE)
    fleet.pool("lobby", loadBalancers=[lb.arn], listenerQuota=5, startPort=31000, endPort=31999, **ALONE)
    fleet.pod("a", ",".join(f"{7000 + n}/UDP@arena" for n in range(3)), ip="10.0.0.1")
    fleet.settle()
    audit(fleet.services)
    fleet.settle()
    assert [lb.capacity for lb in fleet.ledger("lobby").load_balancers] == [2]
    for n in range(3):
        fleet.pod(f"b{n}", "7777/UDP@lobby", ip=f"10.0.1.{n + 1}")
    fleet.settle()
    assert sorted(fleet.state(f"b{n}") for n in range(3)) == ["Bound", "Bound", "NoPortAvailable"]
    fleet.delete("a")
    fleet.settle()
    audit(fleet.services)
    fleet.settle()
    assert [fleet.state(f"b{n}") for n in range(3)] == ["Bound"] * 3
    check_all(fleet, aws)


@pytest.mark.row("PP-07", "CL-12", "SU-03")
def test_a_load_balancer_that_others_have_filled_counts_as_full_and_the_pool_grows_once(fleet: Fleet, aws: Aws) -> None:
    lb = by_hand(fleet, aws)
    fleet.pool("arena", loadBalancers=[lb.arn])
    fleet.settle()
    aws.change(quotas={"listeners_per_load_balancer": 3})
    others = [stranger(fleet, aws, lb, port) for port in (80, 443)]
    for n in range(4):
        fleet.pod(f"p{n}", "7777/UDP@arena", ip=f"10.0.0.{n + 1}")
    fleet.settle()
    assert [fleet.state(f"p{n}") for n in range(4)] == ["Bound"] * 4
    assert aws.counts()["CreateLoadBalancer"] == 2
    assert aws.refusals()["CreateListener TooManyListeners"] == 1
    assert fleet.ledger("arena").load_balancers[0].capacity == 1
    for arn in others:
        fleet.driver.delete_listener(arn)
    audit(fleet.services)
    fleet.settle()
    assert fleet.ledger("arena").load_balancers[0].capacity > 1
    check_all(fleet, aws)


@pytest.mark.row("PP-22", "PP-24")
def test_deleting_one_of_two_pools_on_a_load_balancer_takes_only_what_is_its_own(fleet: Fleet, aws: Aws) -> None:
    lb = by_hand(fleet, aws)
    by_people = stranger(fleet, aws, lb, 443)
    fleet.pool("arena", loadBalancers=[lb.arn], **ALONE)
    fleet.pool("lobby", loadBalancers=[lb.arn], startPort=31000, endPort=31999, **ALONE)
    for name, pool in (("a", "arena"), ("b", "lobby")):
        fleet.pod(name, f"7777/UDP@{pool}", ip=f"10.0.0.{ord(name) - 96}")
    fleet.settle()
    left = fleet.owners("arena")
    fleet.redis.delete("{pp:arena}owners")  # nobody knows of this listener any more
    fleet.annotate("a", ports=None)
    fleet.api.delete(f"{PATH}/arena")
    fleet.settle()
    fleet.due()
    fleet.settle()
    assert left
    assert sorted(each.port for each in fleet.driver.listeners(lb.arn)) == [443, 31000]
    assert by_people in {each.arn for each in fleet.driver.listeners(lb.arn)}
    assert fleet.state("b") == "Bound"
    assert [pool["metadata"]["name"] for pool in fleet.api.list(PATH)["items"]] == ["lobby"]


@pytest.mark.row("PP-22")
def test_a_pool_without_load_balancers_deletes_nothing(fleet: Fleet, aws: Aws) -> None:
    lb = by_hand(fleet, aws)
    stranger(fleet, aws, lb, 443)
    fleet.pool("arena")
    fleet.settle()
    fleet.api.delete(f"{PATH}/arena")
    fleet.settle()
    assert fleet.api.list(PATH)["items"] == []
    assert not [action for action in aws.counts() if action.startswith("Delete")]


@pytest.mark.row("PP-22")
def test_a_created_load_balancer_with_a_listener_of_others_stays_and_says_so(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    [lb] = fleet.driver.find_owned_load_balancers(fleet.cluster)
    arn = stranger(fleet, aws, lb, 443)
    fleet.delete("a")
    fleet.settle()
    fleet.api.delete(f"{PATH}/arena")
    fleet.settle()
    ready = shown(fleet)[1]["Ready"]
    assert ready == f"False Deleting: load balancer {lb.name} has 1 listener that is not ours to delete"
    assert json.dumps([each.arn for each in fleet.driver.listeners(lb.arn)]) == json.dumps([arn])
    fleet.driver.delete_listener(arn)
    fleet.due()
    fleet.settle()
    assert fleet.driver.find_owned_load_balancers(fleet.cluster) == []
    assert fleet.api.list(PATH)["items"] == []
