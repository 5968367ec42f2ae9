"""IPv4 and IPv6: a pool registers the address of its family, and a pod without one waits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixtures.aws import Aws
from tests.support.ports.fleet import Fleet
from tests.support.ports.world_checks import check_all


def dual(fleet: Fleet) -> dict[str, Any]:
    parameters = {"subnets": list(fleet.network.subnets), "ipAddressType": "dualstack"}
    return {"enabled": True, "maxLoadBalancers": 1, "parameters": parameters}


def targets(fleet: Fleet) -> list[tuple[str, int]]:
    groups = fleet.driver.target_groups_owned(fleet.cluster)
    return sorted((target.ip, target.port) for group in groups for target in fleet.driver.targets(group.arn))


@pytest.mark.row("BD-06")
def test_an_ipv6_pool_registers_the_ipv6_address_and_a_pod_without_one_waits(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", targetAddressType="ipv6", autoCreate=dual(fleet))
    fleet.pod("a", "7777/TCP@arena", ip="10.0.0.1")
    fleet.settle()
    assert fleet.shown("a") == ("WaitBackend", [], "waiting for an IPv6 address of the pod")
    assert targets(fleet) == []
    fleet.address("a", "10.0.0.1", "fd00::5")
    fleet.settle()
    state, [row], _ = fleet.shown("a")
    assert (state, row["target"], row["status"]) == ("Bound", "[fd00::5]:7777", "Ready")
    assert targets(fleet) == [("fd00::5", 7777)]
    check_all(fleet, aws)


@pytest.mark.row("BD-06", "BD-14")
def test_an_ipv6_target_follows_its_pod_and_goes_with_it(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", targetAddressType="ipv6", autoCreate=dual(fleet))
    fleet.pod("a", "7777/TCP@arena")
    fleet.address("a", "fd00::5")
    fleet.settle()
    fleet.address("a", "fd00::6")
    fleet.settle()
    assert targets(fleet) == [("fd00::6", 7777)]
    fleet.redis.flushall()
    fleet.settle()
    assert fleet.state("a") == "Bound"
    fleet.delete("a")
    fleet.settle()
    assert targets(fleet) == []
    assert fleet.owners("arena") == {}


@pytest.mark.row("BD-06", "AL-09")
def test_one_pod_may_serve_pools_of_both_families(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("four")
    fleet.pool("six", targetAddressType="ipv6", autoCreate=dual(fleet))
    fleet.pod("a", "7777/TCP@four+six")
    fleet.address("a", "10.0.0.1", "fd00::5")
    fleet.settle()
    assert targets(fleet) == [("10.0.0.1", 7777), ("fd00::5", 7777)]
    assert [row["target"] for row in fleet.shown("a")[1]] == ["10.0.0.1:7777", "[fd00::5]:7777"]
