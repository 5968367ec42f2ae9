"""The share of a namespace: no tenant takes another's ports; a port given back goes on within the namespace."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.integration.ledger.conftest import MakePool
from tests.support.ports.builders import limits, load_balancer
from tests.support.ports.live_pool import LivePool
from workers.stores.ports.ledger import Capped, Full

SHARE = {"spec": {"maxPortsPerNamespace": 3}}


@pytest.fixture
def shared(make_pool: MakePool) -> LivePool:
    """A namespace may have three of its fifty ports."""
    pool = make_pool()
    pool.configure([load_balancer()], config=SHARE)
    return pool


def capped(pool: LivePool, owner: str, ports: int = 1) -> Capped:
    answer = pool.try_allocate(owner, ports)
    assert isinstance(answer, Capped), answer
    return answer


def test_a_namespace_gets_its_share_and_no_port_more(shared: LivePool) -> None:
    for n in range(3):
        shared.allocate(f"games/p{n}")
    assert (capped(shared, "games/late").most, capped(shared, "games/late").used) == (3, 3)
    assert "games/late" not in shared.held()
    assert len(shared.allocate("lobby/a", 3)) == 3


def test_all_wants_of_a_pod_fit_the_share_or_none_is_given(shared: LivePool) -> None:
    shared.allocate("games/a", 2)
    assert capped(shared, "games/b", 2).used == 2
    assert set(shared.held()) == {"games/a"}


def test_a_pod_that_has_its_ports_is_never_over_its_share(shared: LivePool) -> None:
    held = shared.allocate("games/a", 3)
    shared.configure([load_balancer()], config={"spec": {"maxPortsPerNamespace": 1}})
    assert shared.allocate("games/a", 3) == held


def test_what_is_asked_for_beyond_the_share_makes_no_demand(shared: LivePool) -> None:
    """Else a tenant could let the pool grow to its last load balancer without a port of its own."""
    shared.configure([load_balancer(capacity=1)], config=SHARE)
    shared.allocate("lobby/a")
    for n in range(10):
        shared.try_allocate(f"games/p{n}")
    assert shared.view().demand == 3
    assert len([n for n in range(10) if isinstance(shared.try_allocate(f"games/p{n}"), Capped)]) == 7
    intent = shared.growth.intent(shared.view().epoch, limits(most=9, capacity=1))
    assert not isinstance(intent, str)
    assert len(intent.slots) == 3


def test_one_that_waits_keeps_its_place_within_the_share(shared: LivePool) -> None:
    shared.configure([load_balancer(capacity=1)], config=SHARE)
    shared.allocate("lobby/a")
    shared.fail("games/a", 3)
    assert shared.fail("games/a", 3).epoch == shared.view().epoch
    assert capped(shared, "games/b").used == 3


@pytest.mark.row("SU-13")
def test_a_port_given_back_is_told_to_one_pod_of_the_namespace(shared: LivePool) -> None:
    shared.allocate("games/a", 3)
    shared.allocate("lobby/a", 3)
    for name in ("games/b", "games/c", "lobby/b"):
        capped(shared, name)
    (told,) = shared.release("games/a", shared.run("games/a").entries[:1])
    assert told in ("games/b", "games/c")
    assert len(shared.allocate(told)) == 1


@pytest.mark.row("SU-13")
def test_a_port_that_goes_to_another_namespace_is_told_to_one_pod_of_its_own(shared: LivePool) -> None:
    (held, *_) = shared.allocate("games/a", 3)
    capped(shared, "games/b")
    assert shared.run("games/a").give_way(held, "lobby/a", "uid", "80/TCP", "arn:l", "arn:g") == ("games/b",)
    assert len(shared.allocate("games/b")) == 1


@pytest.mark.row("SU-13")
def test_one_that_asks_for_more_than_is_left_holds_nobody_up(shared: LivePool) -> None:
    (first, *_) = shared.allocate("games/a", 3)
    capped(shared, "games/big", 2)
    capped(shared, "games/small")
    assert shared.release("games/a", [first]) == ("games/small",)


@pytest.mark.row("SU-08", "SU-13")
def test_the_sweep_tells_again_who_fits(shared: LivePool) -> None:
    """Whoever was told may have died before the message was sent."""
    shared.allocate("games/a", 3)
    capped(shared, "games/b")
    shared.release("games/a")
    assert shared.sweep(timedelta(0)) == ("games/b",)
    assert shared.sweep(timedelta(0)) == ("games/b",)
    shared.allocate("games/b")
    assert shared.sweep(timedelta(0)) == ()


@pytest.mark.row("SU-13")
def test_who_is_told_may_find_the_pool_full_and_waits(shared: LivePool) -> None:
    shared.configure([load_balancer(capacity=3)], config=SHARE)
    shared.allocate("games/a", 3)
    capped(shared, "games/b")
    (_, *rest) = shared.run("games/a").entries
    shared.release("games/a", shared.run("games/a").entries[:1])
    shared.allocate("lobby/a")
    shared.fail("games/b")
    assert (shared.waiting(), shared.run("games/b").waits) == ({"games/b"}, True)
    assert shared.release("games/a", rest[:1]) == ("games/b",)


@pytest.mark.row("SU-13")
def test_a_waiter_that_ends_gives_its_place_in_the_share_to_the_next(shared: LivePool) -> None:
    shared.configure([load_balancer(capacity=1)], config=SHARE)
    shared.allocate("lobby/a")
    shared.fail("games/a", 3)
    capped(shared, "games/b")
    assert shared.run("games/a").leave() == ("games/b",)
    assert isinstance(shared.try_allocate("games/b"), Full)


def test_one_that_is_gone_is_told_no_more(shared: LivePool) -> None:
    shared.allocate("games/a", 3)
    capped(shared, "games/b")
    assert shared.run("games/b").waits
    shared.run("games/b").leave()
    assert not shared.run("games/b").waits
    assert shared.release("games/a") == ()


@pytest.mark.row("SU-13")
@pytest.mark.parametrize("share", [4, None])
def test_a_larger_share_or_none_is_told_to_those_who_fit(shared: LivePool, share: int | None) -> None:
    shared.allocate("games/a", 3)
    shared.allocate("lobby/a", 3)
    for name in ("games/b", "lobby/b", "lobby/c"):
        capped(shared, name)
    told = shared.configure([load_balancer()], config={"spec": {"maxPortsPerNamespace": share}})
    assert len(told) == (2 if share else 3)
    assert {name.partition("/")[0] for name in told} == {"games", "lobby"}


def test_a_smaller_share_takes_nothing_away(shared: LivePool) -> None:
    shared.allocate("games/a", 3)
    shared.configure([load_balancer()], config={"spec": {"maxPortsPerNamespace": 1}})
    assert len(shared.held()["games/a"]) == 3
    assert capped(shared, "games/b").most == 1


@pytest.mark.row("AL-19")
def test_a_rebuild_counts_what_the_world_shows(shared: LivePool) -> None:
    world = {"games/a": list(shared.allocate("games/a", 3)), "lobby/a": list(shared.allocate("lobby/a"))}
    shared.redis.flushall()
    shared.rebuild(world)
    shared.configure([load_balancer()], config=SHARE)
    capped(shared, "games/b")
    assert len(shared.allocate("lobby/b", 2)) == 2


def test_namespaces_with_names_that_begin_alike_are_apart(shared: LivePool) -> None:
    for space in ("a", "a-b", "a0", "a00"):
        shared.allocate(f"{space}/p", 3)
        capped(shared, f"{space}/q")
    assert set(shared.release("a/p")) == {"a/q"}
    assert set(shared.release("a0/p")) == {"a0/q"}


def test_any_number_of_capped_pods_is_paged_through(shared: LivePool) -> None:
    (first, *_) = shared.allocate("games/a", 3)
    for n in range(120):
        capped(shared, f"games/big-{n}", 2)
    capped(shared, "games/small")
    assert shared.release("games/a", [first]) == ("games/small",)
