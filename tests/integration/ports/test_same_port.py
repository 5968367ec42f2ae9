"""The same port number in several pools: no script spans two ledgers, so others may come between at any step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from berthmaster.routing import pod_key
from domain.port_pools.placement import ordering
from domain.port_pools.port_pool import LoadBalancerPolicy
from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Killed
from tests.support.ports.fleet import Fleet
from tests.support.ports.world_checks import check_all
from workers.stores.ports.ledger import Granted, Ledger, load_scripts

BOTH = "game=7777/UDP@arena+lobby"


def ports(fleet: Fleet, name: str) -> dict[str, int]:
    """Pool -> published port."""
    return {row["pool"]: row["port"] for row in fleet.shown(name)[1]}


def pools(fleet: Fleet, most: int = 1, **changes: Any) -> None:
    """Two pools of five ports, on at most so many load balancers."""
    create = {"enabled": True, "maxLoadBalancers": most, "parameters": {"subnets": list(fleet.network.subnets)}}
    for name in ("arena", "lobby"):
        fleet.pool(name, endPort=30004, autoCreate=create, **changes)


def holding(fleet: Fleet, pool: str, *numbers: int) -> None:
    """Pods that hold just these ports of a pool, each named after its own."""
    for n in range(30000, 30005):
        fleet.pod(f"{pool}-{n}", f"1/UDP@{pool}", ip="10.0.1.1")
        fleet.settle()
        assert ports(fleet, f"{pool}-{n}") == {pool: n}
    for n in set(range(30000, 30005)) - set(numbers):
        fleet.delete(f"{pool}-{n}")
    fleet.settle()


def ask(fleet: Fleet, name: str, text: str = BOTH) -> None:
    fleet.pod(name, text, ip="10.0.0.5", same_port_across_pools="true")


@pytest.mark.row("AL-10")
def test_the_next_number_is_taken_that_all_pools_have(fleet: Fleet, aws: Aws) -> None:
    pools(fleet)
    holding(fleet, "arena", 30000, 30002)
    holding(fleet, "lobby", 30001)
    ask(fleet, "a")
    fleet.settle()
    assert ports(fleet, "a") == {"arena": 30003, "lobby": 30003}
    check_all(fleet, aws)


@pytest.mark.row("AL-10", "AL-11", "BD-03")
def test_ranges_that_do_not_meet_are_said_and_nothing_is_taken(fleet: Fleet) -> None:
    fleet.pool("arena")
    fleet.pool("lobby", startPort=40000, endPort=40999)
    ask(fleet, "a")
    fleet.settle()
    state, shown, message = fleet.shown("a")
    assert (state, shown) == ("Failed", [])
    assert "in pools that have none in common: arena 30000-30999, lobby 40000-40999" in message
    assert (fleet.owners("arena"), fleet.owners("lobby"), fleet.requests) == ({}, {}, [])


@pytest.mark.row("AL-10", "SU-13")
def test_without_a_number_in_common_nothing_is_taken_until_one_is_free(fleet: Fleet, aws: Aws) -> None:
    pools(fleet)
    holding(fleet, "arena", 30000, 30002, 30004)
    holding(fleet, "lobby", 30001, 30003)
    ask(fleet, "a")
    fleet.settle()
    assert (fleet.state("a"), fleet.shown("a")[2]) == (
        "NoPortAvailable",
        "pools arena and lobby have no free port in common",
    )
    assert f"{fleet.namespace}/a" not in fleet.owners("arena") | fleet.owners("lobby")
    fleet.delete("lobby-30003")
    fleet.settle()
    assert ports(fleet, "a") == {"arena": 30003, "lobby": 30003}
    assert (fleet.ledger("arena").waiting, fleet.ledger("lobby").waiting) == (0, 0)
    check_all(fleet, aws)


@pytest.mark.row("SU-04", "SU-11", "AL-10")
def test_only_one_pool_grows_for_a_number_in_common(fleet: Fleet) -> None:
    """In number both have free ports; one load balancer more is enough."""
    pools(fleet, most=3)
    holding(fleet, "arena", 30000, 30002, 30004)
    holding(fleet, "lobby", 30001, 30003)
    ask(fleet, "a")
    fleet.settle()
    assert ports(fleet, "a") == {"arena": 30000, "lobby": 30000}
    assert [len(fleet.ledger(name).load_balancers) for name in ("arena", "lobby")] == [2, 1]


class Disturbed(Ledger):
    """Right before the first call of one script, something happens."""

    happens: list[Callable[[], object]]
    before = "allocate"

    def call(self, script: str, *args: Any) -> list[Any]:
        if script == self.before and self.happens:
            self.happens.pop()()
        return super().call(script, *args)


def run_disturbed(fleet: Fleet, name: str, pool: str, happens: Callable[[], object], before: str = "allocate") -> None:
    """One run of a pod with something before it takes its port of `pool`, or before another script there."""
    disturbed = Disturbed(fleet.redis, load_scripts(fleet.redis), pool)
    disturbed.happens, disturbed.before = [happens], before
    ledgers = {pool: disturbed}
    services = fleet.other(ledger=lambda asked: ledgers.get(asked) or fleet.services.ledger(asked))
    fleet.run(pod_key(fleet.namespace, name), services)


def settled_pools(fleet: Fleet) -> None:
    """With their first load balancers, all free."""
    pools(fleet)
    fleet.pod("first", "1/UDP@arena,2/UDP@lobby", ip="10.0.0.4")
    fleet.settle()
    fleet.delete("first")
    fleet.settle()


@pytest.mark.row("AL-10", "AL-01")
def test_a_number_that_another_takes_in_between_is_given_up_for_the_next(fleet: Fleet, aws: Aws) -> None:
    """Read candidates, take it in arena, and then lobby's is gone: what arena gave goes back in the same run."""
    settled_pools(fleet)
    ask(fleet, "a")
    fleet.pod("b", "1/UDP@lobby", ip="10.0.0.6")
    fleet.sync()
    run_disturbed(fleet, "a", "lobby", lambda: fleet.run_pod("b"))
    assert ports(fleet, "a") == {"arena": 30001, "lobby": 30001}
    assert ports(fleet, "b") == {"lobby": 30000}
    assert len(fleet.owners("arena")[f"{fleet.namespace}/a"]) == 1
    fleet.settle()
    check_all(fleet, aws)


@pytest.mark.row("AL-10", "AL-12", "AL-02")
def test_a_run_that_dies_between_two_pools_leaves_no_half_behind(fleet: Fleet, aws: Aws) -> None:
    """Rule nohalf."""
    settled_pools(fleet)
    ask(fleet, "a")
    fleet.sync()

    def die() -> None:
        raise Killed

    with pytest.raises(Killed):
        run_disturbed(fleet, "a", "lobby", die)
    assert len(fleet.owners("arena")[f"{fleet.namespace}/a"]) == 1
    other = fleet.services.ledger("lobby").open("games/other", "9999999999999999-x")
    assert isinstance(other.take("u", ("1/UDP", 1), ordering(LoadBalancerPolicy.IN_ORDER), 1, 30000), Granted)
    fleet.due()
    fleet.settle()
    assert ports(fleet, "a") == {"arena": 30001, "lobby": 30001}
    check_all(fleet, aws)


@pytest.mark.row("AL-10", "AL-15")
def test_a_pool_added_to_a_bound_entry_gives_the_same_number_or_the_pod_waits(fleet: Fleet) -> None:
    pools(fleet)
    holding(fleet, "lobby", 30000)
    ask(fleet, "a", "game=7777/UDP@arena")
    fleet.settle()
    fleet.annotate("a", ports=BOTH)
    fleet.settle()
    assert (ports(fleet, "a"), fleet.state("a")) == ({"arena": 30000}, "NoPortAvailable")
    assert fleet.shown("a")[2] == "port 30000, which the pod has elsewhere, is not free in lobby"
    fleet.delete("lobby-30000")
    fleet.settle()
    assert ports(fleet, "a") == {"arena": 30000, "lobby": 30000}


@pytest.mark.row("AL-10", "AL-19")
def test_the_number_is_found_again_after_a_loss_of_redis(fleet: Fleet, aws: Aws) -> None:
    pools(fleet)
    holding(fleet, "arena", 30000)
    ask(fleet, "a", "rtp=10-12/UDP@arena+lobby")
    fleet.settle()
    before = fleet.shown("a")
    assert ports(fleet, "a") == {"arena": 30001, "lobby": 30001}
    fleet.redis.flushall()
    fleet.settle()
    assert fleet.shown("a") == before
    check_all(fleet, aws)


@pytest.mark.row("AL-10", "SU-13")
@pytest.mark.parametrize("pool", ["arena", "lobby"])
def test_a_port_that_becomes_free_before_the_pod_is_on_the_list_is_not_missed(fleet: Fleet, pool: str) -> None:
    """Rule freshlook.

    The shortest trace of tests/models/same_port.py: nobody wakes it for what became free after it looked.
    """
    pools(fleet)
    holding(fleet, "arena", 30000, 30002, 30004)
    holding(fleet, "lobby", 30001, 30003)
    ask(fleet, "a")
    fleet.sync()
    holder = "arena-30000" if pool == "arena" else "lobby-30001"

    def give_back() -> None:
        fleet.delete(holder)
        fleet.sync()
        fleet.run_pod(holder)

    run_disturbed(fleet, "a", pool, give_back, before="join_waiting_list")
    assert fleet.state("a") != "NoPortAvailable"
    fleet.due()
    fleet.settle()
    assert fleet.state("a") == "Bound"
