"""What the status of a pool says about its load balancers, and about what stands in its way."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixtures.aws import Aws
from tests.support.ports.fleet import EPOCH, Fleet
from workers.cloud.driver import LoadBalancer
from workers.kube.port_pools import PATH
from workers.scale_up.sweep import sweep


def by_hand(fleet: Fleet, aws: Aws, name: str = "mine") -> LoadBalancer:
    """A load balancer that we did not make."""
    return fleet.driver.create_load_balancer(f"{name}-{fleet.cluster}", aws.parameters, {"made-by": "hand"})


def shown(fleet: Fleet, name: str = "arena") -> tuple[dict[str, str], dict[str, str]]:
    """Load balancer -> state, and condition -> `status reason: message`."""
    status: dict[str, Any] = fleet.api.get(f"{PATH}/{name}")["status"]
    conditions = {c["type"]: f"{c['status']} {c['reason']}: {c['message']}" for c in status["conditions"]}
    return {lb["name"]: lb["state"] for lb in status["loadBalancers"]}, conditions


@pytest.mark.row("PP-14", "PP-20")
def test_what_cannot_be_used_is_named_with_the_reason_and_the_rest_serves(fleet: Fleet, aws: Aws) -> None:
    good = by_hand(fleet, aws)
    web = aws.client().create_load_balancer(Name=f"web-{fleet.cluster}", Type="application", Subnets=aws.ids.subnets)
    web_arn = web["LoadBalancers"][0]["LoadBalancerArn"]
    gone = good.arn.replace("/mine-", "/gone-")
    wrong = [gone, "not an arn", web_arn]
    fleet.pool("arena", loadBalancers=[*wrong, good.arn], autoCreate={"enabled": False})
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    assert fleet.state("a") == "Bound"
    states, conditions = shown(fleet)
    assert states == {
        good.name: "Active",
        f"gone-{fleet.cluster}": "NotFound",
        "not an arn": "NotFound",
        f"web-{fleet.cluster}": "Unusable",
    }
    found = conditions["LoadBalancersFound"]
    assert found.startswith("False Unusable: ")
    assert f"{gone}: there is no such load balancer" in found
    assert "not an arn: there is no such load balancer" in found
    assert f"{web_arn}: it is a load balancer of type application, not network" in found
    assert conditions["Ready"] == "True Ready: "


@pytest.mark.row("PP-14")
def test_load_balancers_of_another_vpc_are_named_and_give_no_ports(fleet: Fleet, aws: Aws) -> None:
    mine = by_hand(fleet, aws)
    fleet.pool("arena", vpcId="vpc-elsewhere", loadBalancers=[mine.arn], autoCreate={"enabled": False})
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    fleet.queue.touch(["portpool/arena"])
    fleet.settle()
    states, conditions = shown(fleet)
    assert (fleet.state("a"), states) == ("NoPortAvailable", {mine.name: "Unusable"})
    assert f"{mine.arn}: it is in {aws.ids.vpc}, not in vpc-elsewhere" in conditions["LoadBalancersFound"]
    assert conditions["Ready"].startswith("False Exhausted")


@pytest.mark.row("PP-14", "SU-09")
def test_subnets_of_another_vpc_make_one_load_balancer_and_a_clear_status(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", vpcId="vpc-elsewhere", endPort=30001)
    for n in range(5):
        fleet.pod(f"p{n}", "7777/UDP@arena", ip=f"10.0.0.{n + 1}")
    for _ in range(3):
        fleet.settle()
        fleet.redis.delete(*fleet.redis.scan_iter("{pp:arena}scale-up:*"))
        sweep(fleet.services)
    fleet.settle()
    assert aws.counts()["CreateLoadBalancer"] == 4
    assert len(fleet.driver.find_owned_load_balancers(fleet.cluster)) == 1
    _, conditions = shown(fleet)
    assert conditions["Ready"] == f"False Refused: the subnets are in {aws.ids.vpc}, spec.vpcId is vpc-elsewhere"
    fleet.api.delete(f"{PATH}/arena")
    fleet.settle()
    assert fleet.driver.find_owned_load_balancers(fleet.cluster) == []


@pytest.mark.row("SU-09", "PP-20")
def test_why_a_scale_up_failed_is_in_the_status_until_one_succeeds(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    aws.fault("CreateLoadBalancer", code="InvalidSubnet", message="subnet-x is unknown")
    fleet.settle()
    assert shown(fleet)[1]["Ready"] == "False Refused: AWS CreateLoadBalancer: InvalidSubnet: subnet-x is unknown"
    fleet.redis.delete(*fleet.redis.scan_iter("{pp:arena}scale-up:*"))
    sweep(fleet.services)
    fleet.settle()
    assert fleet.state("a") == "Bound"
    assert shown(fleet)[1]["Ready"] == "True Ready: "


@pytest.mark.row("PP-21")
def test_a_pool_whose_load_balancers_may_not_be_listed_says_so_and_goes_on_later(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    aws.fault("DescribeLoadBalancers", code="AccessDenied", message="no such right", times=1)
    fleet.sync()
    fleet.run("portpool/arena")
    _, conditions = shown(fleet)
    assert conditions["Ready"] == "False Refused: AWS DescribeLoadBalancers: AccessDenied: no such right"
    fleet.due()
    fleet.settle()
    assert shown(fleet)[1]["Ready"] == "True Ready: "


@pytest.mark.row("PP-26", "PP-20")
def test_all_of_twenty_five_load_balancers_are_found(fleet: Fleet, aws: Aws) -> None:
    made = [by_hand(fleet, aws, f"m{n}") for n in range(25)]
    aws.change(page_size=10)
    fleet.pool("arena", loadBalancers=[lb.arn for lb in made], autoCreate={"enabled": False})
    fleet.settle()
    assert shown(fleet)[0] == {lb.name: "Active" for lb in made}


@pytest.mark.row("PP-27")
def test_a_created_load_balancer_that_a_list_lacks_is_asked_for_by_its_arn(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    before = fleet.ledger("arena").load_balancers
    fleet.api.patch(f"{PATH}/arena", {"spec": {"lbPolicy": "Uniform"}})
    fleet.sync()
    fleet.run("portpool/arena", fleet.other(driver=lambda _: Forgetful(fleet.driver)))
    assert [lb.arn for lb in fleet.ledger("arena").load_balancers] == [lb.arn for lb in before]
    assert [lb.capacity for lb in fleet.ledger("arena").load_balancers] == [50]


class Forgetful:
    """A driver whose list of our load balancers is empty."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def on_behalf_of(self, *_: Any, **__: Any) -> Forgetful:
        return self

    def find_owned_load_balancers(self, *_: Any) -> list[LoadBalancer]:
        return []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)


@pytest.mark.row("PP-18")
def test_created_load_balancers_have_the_prefix_of_the_pool_and_are_found_again(fleet: Fleet, aws: Aws) -> None:
    parameters = {"subnets": list(aws.ids.subnets), "namePrefix": "players"}
    fleet.pool("arena", autoCreate={"enabled": True, "maxLoadBalancers": 2, "parameters": parameters})
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    [lb] = fleet.driver.find_owned_load_balancers(fleet.cluster)
    assert lb.name.startswith("players-arena-")
    fleet.redis.flushall()
    fleet.settle()
    assert [each.name for each in fleet.ledger("arena").load_balancers] == [lb.name]
    fleet.delete("a")
    fleet.api.delete(f"{PATH}/arena")
    fleet.settle()
    fleet.due()
    fleet.settle()
    assert fleet.driver.find_owned_load_balancers(fleet.cluster) == []


@pytest.mark.row("SU-03", "SU-07")
def test_a_request_that_could_not_be_sent_gives_its_turn_back(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.sync()
    fleet.run("portpool/arena")
    fleet.run(f"pod/{fleet.namespace}/a", fleet.other(send_scale_up=lambda *_: False))
    [key] = fleet.redis.scan_iter("{pp:arena}scale-up:*")
    assert fleet.redis.pttl(key) <= 2_000
    fleet.redis.delete(key)
    sweep(fleet.services)
    assert fleet.requests


@pytest.mark.row("KU-11")
def test_a_status_that_a_backup_brought_back_is_written_again(fleet: Fleet) -> None:
    """A worker remembers what it has shown: that says nothing of an object that was restored."""
    fleet.pool("arena")
    fleet.settle()
    assert fleet.api.get(f"{PATH}/arena")["status"]["state"] == "Active"
    fleet.api.patch(f"{PATH}/arena/status", {"status": {"state": "Pending"}})
    assert fleet.queue.enter_history(EPOCH, anew=True)
    fleet.settle()
    assert fleet.api.get(f"{PATH}/arena")["status"]["state"] == "Active"
