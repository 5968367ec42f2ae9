"""What a pool's own worker sets: load balancers, their room, strangers' listeners; nothing that is held moves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.ports.entry import EntryState
from tests.integration.ledger.conftest import MakePool
from tests.support.ports.builders import NLB, load_balancer, load_balancers
from tests.support.ports.live_pool import LivePool
from workers.stores.ports.ledger import EntryChanged, Full
from workers.stores.ports.pool_ledger import PoolLoadBalancer, Span


@pytest.mark.row("PP-12")
def test_an_added_load_balancer_gives_ports_and_moves_nothing(make_pool: MakePool) -> None:
    pool = make_pool(lbs=load_balancers(1, capacity=1))
    held = pool.allocate("games/h")
    pool.fail("games/a")
    assert pool.configure(load_balancers(2, capacity=1)) == ("games/a",)
    assert pool.ports("games/a") == [("lb-1", 30000)]
    assert pool.held()["games/h"] == held


@pytest.mark.row("PP-12", "SU-05")
def test_more_capacity_raises_the_epoch_and_the_same_or_less_does_not(make_pool: MakePool) -> None:
    pool = make_pool(lbs=load_balancers(2))
    epochs = []
    for count in (2, 1, 3):
        pool.configure(load_balancers(count))
        epochs.append(int(pool.view().epoch))
    assert epochs[0] == epochs[1] == epochs[2] - 1


@pytest.mark.row("PP-13")
@pytest.mark.parametrize(
    "lbs", [[load_balancer(1)], [load_balancer(0, capacity=0), load_balancer(1)]], ids=["removed", "blocked"]
)
def test_a_load_balancer_that_gives_no_ports_any_more_keeps_what_is_held(
    make_pool: MakePool, lbs: list[PoolLoadBalancer]
) -> None:
    pool = make_pool(lbs=load_balancers(2))
    (held,) = pool.allocate("games/h")
    pool.configure(lbs)
    assert pool.held() == {"games/h": (held,)}
    assert pool.ports("games/a") == [("lb-1", 30000)]
    pool.release("games/h")
    assert pool.ports("games/b") == [("lb-1", 30001)]


@pytest.mark.row("PP-13")
def test_a_load_balancer_that_comes_back_has_what_is_held_on_it(make_pool: MakePool) -> None:
    pool = make_pool(lbs=load_balancers(1, capacity=3))
    pool.allocate("games/h", 2)
    pool.configure([])
    pool.configure(load_balancers(1, capacity=3))
    assert (pool.view().allocated, pool.view().free) == (2, 1)
    assert pool.ports("games/a") == [("lb-0", 30002)]


def test_a_configuration_from_before_a_change_of_capacity_is_refused(pool: LivePool) -> None:
    """Else it would drop the load balancers that a winner has just added."""
    before = pool.view().epoch
    pool.configure(load_balancers(2))
    assert pool.growth.configure(0, before, "Active", {}, Span(30000, 1000), load_balancers(1)) is None
    assert pool.view().capacity == 2 * NLB


def test_the_configuration_is_what_runs_read(pool: LivePool) -> None:
    pool.configure([load_balancer()], config={"generation": 7})
    assert pool.run().config == pool.growth.config() == b'{"generation":7}'


# ---- strangers' listeners


@pytest.mark.row("PP-07", "PP-06")
def test_strangers_listeners_count_against_the_quota_and_their_ports_are_not_given(make_pool: MakePool) -> None:
    """The capacity is what AWS leaves: 50 listeners, 3 of them not ours."""
    strangers = (30000, 30002, 443)
    pool = make_pool(lbs=[load_balancer(capacity=NLB - 3, foreign=strangers)])
    found = [port for n in range(47) for _, port in pool.ports(f"games/p{n}")]
    assert not {30000, 30002} & set(found)
    assert isinstance(pool.try_allocate("games/late"), Full)


@pytest.mark.row("PP-06", "PP-07")
def test_a_port_that_turns_out_to_be_a_strangers_is_given_up(make_pool: MakePool) -> None:
    pool = make_pool(lbs=load_balancers(2, capacity=2))
    (held,) = pool.allocate("games/a")
    pool.run("games/a").foreign(held)
    assert pool.held() == {}
    assert pool.view().load_balancers[0].foreign == (30000,)
    assert pool.ports("games/a", 2) == [("lb-0", 30001), ("lb-1", 30000)]


@pytest.mark.row("PP-07")
def test_a_load_balancer_that_others_have_filled_gives_no_more_until_it_is_configured_again(
    make_pool: MakePool,
) -> None:
    pool = make_pool(lbs=load_balancers(2, capacity=3))
    pool.allocate("games/a")
    (held,) = pool.allocate("games/b")
    pool.run("games/b").crowded(held)
    assert set(pool.held()) == {"games/a"}
    assert pool.ports("games/c", 3) == [("lb-1", 30000), ("lb-1", 30001), ("lb-1", 30002)]
    assert isinstance(pool.try_allocate("games/d"), Full)
    assert pool.configure(load_balancers(2, capacity=3)) == ("games/d",)
    assert pool.ports("games/d") == [("lb-0", 30001)]


@pytest.mark.row("PP-07")
@pytest.mark.parametrize("state", [EntryState.BOUND, EntryState.RELEASING])
def test_a_port_that_has_had_a_listener_is_not_given_back_for_a_full_load_balancer(
    pool: LivePool, state: EntryState
) -> None:
    (held,) = pool.allocate("games/a")
    run = pool.run("games/a")
    if state is EntryState.BOUND:
        run.record(held.uid, [replace(held, state=state)])
    else:
        run.releasing(held)
    with pytest.raises(EntryChanged):
        run.crowded(held)


@pytest.mark.row("PP-07")
def test_a_stranger_on_a_held_port_is_counted_once(make_pool: MakePool) -> None:
    """The worker sees the stranger in AWS first, the owner's run meets it after that."""
    pool = make_pool(lbs=[load_balancer(capacity=3)])
    (held,) = pool.allocate("games/a")
    pool.configure([load_balancer(capacity=2, foreign=(30000,))])
    assert pool.view().free == 1
    pool.run("games/a").foreign(held)
    assert (pool.view().free, pool.view().capacity) == (2, 2)
    assert pool.ports("games/a", 2) == [("lb-0", 30001), ("lb-0", 30002)]


def test_a_waiter_gets_the_room_that_a_counted_stranger_leaves(make_pool: MakePool) -> None:
    pool = make_pool(lbs=[load_balancer(capacity=2)])
    (held,) = pool.allocate("games/a")
    pool.configure([load_balancer(capacity=1, foreign=(30000,))])
    pool.fail("games/b")
    assert pool.run("games/a").foreign(held) == ("games/b",)


def test_the_port_of_a_stranger_that_went_away_is_given_again(make_pool: MakePool) -> None:
    pool = make_pool(lbs=[load_balancer(capacity=2, foreign=(30000,))])
    pool.allocate("games/h")
    pool.configure([load_balancer(capacity=3)])
    assert pool.ports("games/a", 2) == [("lb-0", 30000), ("lb-0", 30002)]


def test_the_port_of_a_stranger_is_forgotten_with_its_load_balancer(make_pool: MakePool) -> None:
    pool = make_pool(lbs=[load_balancer(capacity=2, foreign=(30000,))])
    pool.configure([])
    pool.configure([load_balancer(capacity=3)])
    assert pool.ports("games/a") == [("lb-0", 30000)]


def test_a_port_is_given_up_also_on_a_load_balancer_that_was_removed(make_pool: MakePool) -> None:
    pool = make_pool(lbs=load_balancers(2))
    (held,) = pool.allocate("games/a")
    pool.configure([load_balancer(1)])
    pool.run("games/a").foreign(held)
    assert pool.held() == {}
    assert pool.ports("games/a") == [("lb-1", 30000)]


@pytest.mark.row("PP-07")
def test_a_load_balancer_with_more_in_use_than_it_may_carry_takes_no_room_from_others(make_pool: MakePool) -> None:
    """Strangers came to lb-0 since: it lacks two places, and the three of lb-1 are free all the same."""
    pool = make_pool(lbs=[load_balancer(0, capacity=4)])
    pool.allocate("games/h", 4)
    pool.fail("games/a", 3)
    assert pool.configure([load_balancer(0, capacity=2), load_balancer(1, capacity=3)]) == ("games/a",)
    assert pool.view().free == 3
    pool.release("games/h", pool.held()["games/h"][:3])
    assert pool.view().free == 4


# ---- the end of a pool


def test_a_pool_is_not_forgotten_while_somebody_holds_a_port(pool: LivePool) -> None:
    pool.allocate("games/a")
    assert pool.growth.drop() == 1
    pool.release("games/a")
    assert pool.growth.drop() == 0
    assert pool.view() == replace(pool.view(), epoch="", state="", load_balancers=())
    pool.rebuild()
