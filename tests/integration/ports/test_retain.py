"""A pod that asks for it finds its ports again after it was deleted and created anew; others give them back."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Any

import pytest

from events.routing import pod_key
from tests.fixtures.aws import Aws
from tests.support.fleet import Fleet
from tests.support.interruption import Fuse, Interposed, Killed
from tests.support.world_checks import check_all, check_unique
from workers.cloud.tags import RETAIN, UID
from workers.pools.audit import audit
from workers.pools.sweep import sweep

RANGE = "rtp=10000-10003/UDP@arena, web=80/TCP@arena"


def bound(
    fleet: Fleet, name: str = "a", ports: str = "7777/UDP@arena", retain: str | None = "true", **pool: Any
) -> None:
    fleet.pool("arena", **pool)
    notes = {"ports_retain": retain} if retain else {}
    fleet.pod(name, ports, ip="10.0.0.1", **notes)
    fleet.settle()
    assert fleet.state(name) == "Bound"


def again(fleet: Fleet, name: str = "a", ports: str | None = "7777/UDP@arena", **notes: str) -> None:
    """The pod comes back, with another address."""
    fleet.pod(name, ports, ip="10.0.0.2", **(notes or {"ports_retain": "true"}))
    fleet.settle()


def places(fleet: Fleet, name: str = "a") -> list[tuple[str, int, int]]:
    return [(row["loadBalancer"], row["port"], row["endPort"]) for row in fleet.shown(name)[1]]


def states(fleet: Fleet, name: str = "a") -> list[str]:
    return [state for _, _, state in fleet.owners("arena").get(f"{fleet.namespace}/{name}", [])]


def registered(fleet: Fleet) -> list[str]:
    """ip:port of every target of ours that does not drain."""
    groups = fleet.driver.target_groups_owned(fleet.cluster)
    return sorted(
        f"{t.ip}:{t.port}" for group in groups for t in fleet.driver.targets(group.arn) if t.health != "draining"
    )


def tags(fleet: Fleet) -> list[tuple[str, str]]:
    """(uid, seconds) of every listener and target group."""
    driver = fleet.driver
    listeners = [x for lb in driver.find_owned_load_balancers(fleet.cluster) for x in driver.listeners(lb.arn)]
    found = [x.tags for x in listeners] + [x.tags for x in driver.target_groups_owned(fleet.cluster)]
    return sorted({(t[UID], t.get(RETAIN, "")) for t in found})


def uid(fleet: Fleet, name: str = "a") -> str:
    found: str = fleet.api.get(fleet.pod_path(name))["metadata"]["uid"]
    return found


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
def test_scaling_one_set_to_nothing_frees_its_ports_and_no_others(fleet: Fleet, aws: Aws) -> None:
    """Sets `game` and `game-2`: neither takes the other's, neither leaks."""
    bound(fleet, "game-0", retain="0s")
    fleet.pod("game-2-0", "7777/UDP@arena", ip="10.0.0.3", ports_retain="true")
    fleet.settle()
    other = places(fleet, "game-2-0")
    fleet.delete("game-0")
    fleet.delete("game-2-0")
    fleet.settle()
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
    bound(fleet, retain="1s")
    fleet.delete("a")
    fleet.settle()
    key = f"{fleet.services.ledger('arena').prefix}retained"
    assert states(fleet) == ["retained"]
    owner = f"{fleet.namespace}/a"
    stored: Any = fleet.redis.hget(f"{fleet.services.ledger('arena').prefix}owners", owner)
    fleet.redis.hset(f"{fleet.services.ledger('arena').prefix}owners", owner, stored.replace(b'"z":', b'"z":1,"-":'))
    fleet.redis.zadd(key, {owner: 1})
    sweep(fleet.services)
    fleet.settle()
    assert fleet.owners("arena") == {}
    assert tags(fleet) == []
    again(fleet)
    assert fleet.state("a") == "Bound"
    check_all(fleet, aws)


@pytest.mark.row("BD-22", "PP-01")
def test_retained_ports_are_given_to_nobody_else(fleet: Fleet, aws: Aws) -> None:
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


# ---- faults


def die(fleet: Fleet, at: int, after: bool) -> bool:
    fuse = Fuse(at, after)
    driver = fuse.guard(fleet.driver)
    with contextlib.suppress(Killed):
        fleet.run(
            pod_key(fleet.namespace, "a"), fleet.other(driver=lambda _: driver, pods=fuse.guard(fleet.services.pods))
        )
        return False
    return True


@pytest.mark.row("BD-22", "BD-17", "AL-21")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_worker_that_dies_at_any_call_costs_no_retained_port(fleet: Fleet, aws: Aws, after: bool) -> None:
    bound(fleet, ports="a=7777/UDP@arena, b=7778/TCP@arena")
    before = places(fleet)
    deaths = 0
    for at in range(12):
        fleet.delete("a")
        fleet.sync()
        deaths += die(fleet, at, after)
        fleet.due()
        fleet.settle()
        assert (states(fleet), registered(fleet)) == (["retained", "retained"], [])
        fleet.pod("a", "a=7777/UDP@arena, b=7778/TCP@arena", ip="10.0.0.2", ports_retain="true")
        fleet.sync()
        died = die(fleet, at, after)
        deaths += died
        fleet.due()
        fleet.settle()
        assert (fleet.state("a"), places(fleet)) == ("Bound", before)
        assert registered(fleet) == ["10.0.0.2:7777", "10.0.0.2:7778"]
        check_all(fleet, aws)
        if not died:
            break
    assert deaths >= 4 + 7  # list and drop of each; list, tags and target of each, one write on the pod


@pytest.mark.row("BD-22", "AL-19", "EV-10")
@pytest.mark.parametrize("when", ["bound", "retained", "taken over"])
def test_a_retained_port_survives_a_loss_of_redis(fleet: Fleet, aws: Aws, when: str) -> None:
    bound(fleet, ports=RANGE)
    before = places(fleet)
    fleet.delete("a")
    if when == "bound":
        fleet.redis.flushall()
    fleet.settle()
    if when == "taken over":
        fleet.pod("a", RANGE, ip="10.0.0.2", ports_retain="true")
        fleet.sync()
        die(fleet, 4, after=True)
    fleet.redis.flushall()
    fleet.settle()
    assert set(states(fleet)) == ({"bound"} if when == "taken over" else {"retained"})
    assert {t.split(":")[0] for t in registered(fleet)} == ({"10.0.0.2"} if when == "taken over" else set())
    if when != "taken over":
        again(fleet, ports=RANGE)
    assert (fleet.state("a"), places(fleet)) == ("Bound", before)
    check_all(fleet, aws)


@pytest.mark.row("BD-22", "BD-14")
def test_an_address_that_a_stale_run_registered_is_dropped_before_the_port_is_published_again(fleet: Fleet) -> None:
    """Shortest trace of the model without its rule `compare`."""
    bound(fleet)
    fleet.delete("a")
    fleet.settle()
    group = fleet.driver.target_groups_owned(fleet.cluster)[0]
    fleet.driver.register(group.arn, [("10.0.0.77", 7777)])  # a call that was on the wire
    again(fleet)
    assert registered(fleet) == ["10.0.0.2:7777"]


@pytest.mark.row("BD-22", "BD-23")
def test_a_paused_run_of_the_dead_pod_drops_nothing_of_its_heir(fleet: Fleet, aws: Aws) -> None:
    """It listed the targets, then another run bound the heir; its late call names what it had listed."""
    bound(fleet)
    fleet.delete("a")
    fleet.sync()

    def heir() -> None:
        fleet.due()
        again(fleet)

    fleet.run_pod_with("a", Interposed(fleet.driver, "deregister", heir))
    assert registered(fleet) == ["10.0.0.2:7777"]
    fleet.settle()
    assert (fleet.state("a"), states(fleet)) == ("Bound", ["bound"])
    check_all(fleet, aws)


@pytest.mark.row("BD-22", "BD-19")
def test_a_retained_listener_that_was_deleted_by_hand_is_made_again(fleet: Fleet, aws: Aws) -> None:
    bound(fleet)
    before = places(fleet)
    fleet.delete("a")
    fleet.settle()
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    fleet.driver.delete_listener(fleet.driver.listeners(lb.arn)[0].arn)
    again(fleet)
    fleet.due()
    fleet.settle()
    assert (fleet.state("a"), places(fleet)) == ("Bound", before)
    audit(fleet.services)
    fleet.settle()
    check_all(fleet, aws)


@pytest.mark.row("BD-22", "FZ-07")
def test_the_audit_takes_a_retained_port_for_no_orphan(fleet: Fleet) -> None:
    bound(fleet)
    fleet.delete("a")
    fleet.settle()
    before = tags(fleet)
    for _ in range(2):
        audit(fleet.other(orphan_grace=timedelta(0)))
        fleet.settle()
    assert (tags(fleet), states(fleet)) == (before, ["retained"])
