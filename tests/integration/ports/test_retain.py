"""A pod that asks for it finds its ports again after it was deleted and created anew; others give them back."""

from __future__ import annotations

import pytest

from tests.fixtures.aws import Aws
from tests.support.ports.fleet import Fleet
from tests.support.ports.retained import RANGE, again, bound, places, registered, states, tags, time_is_over, uid
from tests.support.ports.world_checks import check_all, check_unique
from workers.scale_up.sweep import sweep


@pytest.mark.row("BD-22")
@pytest.mark.parametrize("ports", ["7777/UDP@arena", RANGE])
def test_a_recreated_pod_finds_its_ports_again(fleet: Fleet, aws: Aws, ports: str) -> None:
    bound(fleet, ports=ports)
    before, count = places(fleet), len(states(fleet))
    fleet.delete("a")
    fleet.settle()
    assert states(fleet) == ["retained"] * count
    assert registered(fleet) == []
    fleet.pod("b", ports, ip="10.0.0.9")  # takes others meanwhile
    again(fleet, ports=ports)
    assert fleet.state("a") == "Bound"
    assert places(fleet) == before
    assert {target.split(":")[0] for target in registered(fleet)} == {"10.0.0.2", "10.0.0.9"}
    assert (uid(fleet), "86400") in tags(fleet)
    check_all(fleet, aws)


@pytest.mark.row("BD-22", "BD-23")
def test_a_pod_replaced_before_anybody_looked_finds_its_ports_again(fleet: Fleet, aws: Aws) -> None:
    bound(fleet)
    before = places(fleet)
    fleet.delete("a")
    again(fleet)
    assert (fleet.state("a"), places(fleet), registered(fleet)) == ("Bound", before, ["10.0.0.2:7777"])
    check_all(fleet, aws)


@pytest.mark.row("BD-22", "AL-17")
def test_without_retain_the_ports_are_released(fleet: Fleet, aws: Aws) -> None:
    bound(fleet, retain=None)
    fleet.delete("a")
    fleet.settle()
    assert fleet.owners("arena") == {}
    assert tags(fleet) == []
    check_all(fleet, aws)


@pytest.mark.row("BD-22", "AL-17")
def test_a_set_that_is_scaled_to_nothing_frees_its_ports_when_their_time_is_over_and_no_others(
    fleet: Fleet, aws: Aws
) -> None:
    """Sets `game` and `game-2`: neither takes the other's, neither leaks."""
    bound(fleet, "game-0")
    fleet.pod("game-2-0", "7777/UDP@arena", ip="10.0.0.3", ports_retain="true")
    fleet.settle()
    other = places(fleet, "game-2-0")
    fleet.delete("game-0")
    fleet.delete("game-2-0")
    fleet.settle()
    assert states(fleet, "game-0") == states(fleet, "game-2-0") == ["retained"]
    time_is_over(fleet, "game-0")
    assert list(fleet.owners("arena")) == [f"{fleet.namespace}/game-2-0"]
    again(fleet, "game-2-0")
    assert places(fleet, "game-2-0") == other
    check_all(fleet, aws)


@pytest.mark.row("BD-22")
@pytest.mark.parametrize("ports", [None, "9999/TCP@arena"], ids=["no request", "another request"])
def test_a_pod_that_comes_back_without_the_request_gives_the_port_up(fleet: Fleet, aws: Aws, ports: str | None) -> None:
    bound(fleet)
    fleet.delete("a")
    fleet.settle()
    again(fleet, ports=ports)
    assert states(fleet) == (["bound"] if ports else [])
    assert len(tags(fleet)) == (1 if ports else 0)
    check_all(fleet, aws)


@pytest.mark.row("BD-22")
def test_a_retained_port_is_released_when_its_time_is_over(fleet: Fleet, aws: Aws) -> None:
    bound(fleet, retain="1h")
    fleet.delete("a")
    fleet.settle()
    assert states(fleet) == ["retained"]
    sweep(fleet.services)
    fleet.settle()
    assert states(fleet) == ["retained"]
    time_is_over(fleet, "a")
    assert fleet.owners("arena") == {}
    assert tags(fleet) == []
    again(fleet)
    assert fleet.state("a") == "Bound"
    check_all(fleet, aws)


@pytest.mark.row("BD-22", "PP-01")
def test_retained_ports_are_given_to_nobody_else(fleet: Fleet, aws: Aws) -> None:
    """Rule droptargets."""
    both, own = "a=7777/UDP@arena, b=7778/UDP@arena", {"enabled": False}
    bound(fleet, ports=both, endPort=30001, autoCreate=own, loadBalancers=[_existing(fleet, aws)])
    fleet.delete("a")
    fleet.pod("b", "7777/UDP@arena", ip="10.0.0.9")
    fleet.settle()
    assert fleet.state("b") == "NoPortAvailable"
    again(fleet, ports=both)
    assert (fleet.state("a"), fleet.state("b")) == ("Bound", "NoPortAvailable")
    fleet.annotate("a", ports_retain=None)
    fleet.settle()
    fleet.delete("a")
    fleet.settle()
    assert fleet.state("b") == "Bound"
    check_unique(fleet)


def _existing(fleet: Fleet, aws: Aws) -> str:
    made = aws.client().create_load_balancer(Name=f"own-{fleet.cluster}", Type="network", Subnets=list(aws.ids.subnets))
    arn: str = made["LoadBalancers"][0]["LoadBalancerArn"]
    return arn


# ---- changes on a live pod


@pytest.mark.row("BD-22")
def test_retention_follows_the_annotation_of_a_live_pod(fleet: Fleet, aws: Aws) -> None:
    bound(fleet, ports=RANGE, retain=None)
    for text, seconds in (("2h", "7200"), ("false", "0"), ("true", "86400")):
        fleet.annotate("a", ports_retain=text)
        fleet.settle()
        assert tags(fleet) == [(uid(fleet), seconds)]
    before = places(fleet)
    fleet.delete("a")
    again(fleet, ports=RANGE)
    assert places(fleet) == before
    fleet.annotate("a", ports_retain=None)
    fleet.settle()
    fleet.delete("a")
    fleet.settle()
    assert fleet.owners("arena") == {}
    check_all(fleet, aws)


@pytest.mark.row("BD-22", "BD-03")
def test_a_mistake_in_the_annotation_is_named_and_costs_nothing(fleet: Fleet) -> None:
    bound(fleet)
    before = places(fleet)
    fleet.annotate("a", ports_retain="for ever")
    fleet.settle()
    state, _, message = fleet.shown("a")
    assert state == "Failed"
    assert "ports-retain 'for ever' is not true, false or a length of time" in message
    assert places(fleet) == before
    fleet.delete("a")
    again(fleet, ports_retain="for ever")
    assert states(fleet) == ["retained"]
    fleet.annotate("a", ports_retain="true")
    fleet.settle()
    assert (fleet.state("a"), places(fleet)) == ("Bound", before)


@pytest.mark.row("BD-22")
def test_a_pod_that_ended_keeps_its_port_for_the_one_that_replaces_it(fleet: Fleet, aws: Aws) -> None:
    bound(fleet)
    before = places(fleet)
    fleet.api.patch(f"{fleet.pod_path('a')}/status", {"status": {"phase": "Failed"}})
    fleet.settle()
    assert (fleet.shown("a"), states(fleet)) == (("", [], ""), ["retained"])
    assert registered(fleet) == []
    fleet.delete("a")
    again(fleet)
    assert (fleet.state("a"), places(fleet)) == ("Bound", before)
    check_all(fleet, aws)


@pytest.mark.row("BD-22", "PP-22")
def test_a_pool_that_is_deleted_keeps_nothing(fleet: Fleet) -> None:
    bound(fleet)
    fleet.delete("a")
    fleet.settle()
    fleet.api.delete("/apis/berthmaster.dev/v1alpha1/portpools/arena")
    fleet.settle()
    fleet.due()
    fleet.settle()
    assert tags(fleet) == []
    assert fleet.driver.find_owned_load_balancers(fleet.cluster) == []
