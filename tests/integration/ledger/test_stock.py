"""Ports with precreated listeners: only what is in stock is given, one by one while a load balancer is being filled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from redis import Redis

from domain.ports.entry import Entry, EntryState
from tests.integration.ledger.intents import intent_of
from tests.integration.ledger.stocks import KINDS, SIZE, TCP, put, unfilled
from tests.support.ports.builders import START, entry, load_balancer
from tests.support.ports.live_pool import LivePool
from workers.stores.ports.ledger import EntryChanged
from workers.stores.ports.pool_ledger import PoolLoadBalancer
from workers.stores.ports.precreated import Stock


def listed(ports: int = 0, number: int = 0, capacity: int = SIZE, foreign: Sequence[int] = ()) -> PoolLoadBalancer:
    stock = tuple((START + n, f"arn:l{n}", f"arn:g{n}") for n in range(ports))
    return load_balancer(number, capacity=capacity, stock=stock, foreign=tuple(foreign))


@pytest.fixture
def pool(redis: Redis) -> LivePool:
    return unfilled(redis)


def missing(pool: LivePool) -> dict[str, int]:
    return {gap.lb: gap.missing for gap in Stock(pool.ledger).gaps()}


@pytest.mark.row("PP-10")
def test_a_port_can_be_given_as_soon_as_its_listener_is_there_and_not_before(pool: LivePool) -> None:
    pool.fail("games/a")
    assert missing(pool) == {"lb-0": 5}
    epoch = int(pool.view().epoch)
    assert put(pool, 2) == ("games/a",)
    assert int(pool.view().epoch) == epoch + 1
    assert pool.ports("games/a") == [("lb-0", START + 2)]
    assert missing(pool) == {"lb-0": 4}
    pool.fail("games/b")
    put(pool, 0, 1, 3, 4)
    assert missing(pool) == {}
    assert (pool.view().capacity, pool.view().free) == (5, 4)
    assert pool.faults() == []


@pytest.mark.row("PP-10")
def test_filling_again_what_is_filled_changes_nothing(pool: LivePool) -> None:
    put(pool, 0)
    epoch = pool.view().epoch
    assert put(pool, 0) == ()
    assert (pool.view().epoch, pool.view().capacity, missing(pool)) == (epoch, 1, {"lb-0": 4})


def test_a_load_balancer_that_the_pool_does_not_have_gets_no_stock(pool: LivePool) -> None:
    assert put(pool, 0, lb="lb-9") == ()
    assert Stock(pool.ledger).all() == {}


@pytest.mark.row("PP-10", "SU-04")
def test_a_new_load_balancer_gives_nothing_before_it_is_filled(pool: LivePool) -> None:
    put(pool, 0, 1, 2, 3, 4)
    pool.fill(5, each=1)
    pool.fail("games/a", [("7/TCP", 1, TCP)])
    pool.growth.close(intent_of(pool), [load_balancer(1, capacity=SIZE)])
    pool.fail("games/a", [("7/TCP", 1, TCP)])
    assert missing(pool) == {"lb-1": 5}
    assert pool.faults() == []
    assert put(pool, 0, lb="lb-1") == ("games/a",)


def test_what_aws_has_is_in_stock_after_a_configuration_and_must_be_compared(pool: LivePool) -> None:
    pool.configure([listed(3)])
    assert (pool.view().capacity, missing(pool)) == (3, {"lb-0": 2})
    held = pool.allocate("games/a")[0]
    assert pool.run("games/a").due == {held.key}
    assert pool.faults() == []


def test_ports_of_strangers_are_neither_given_nor_filled(pool: LivePool) -> None:
    pool.configure([listed(2, foreign=[START, START + 4], capacity=3)])
    assert (pool.view().capacity, missing(pool)) == (1, {"lb-0": 2})
    assert pool.ports("games/a") == [("lb-0", START + 1)]
    assert pool.faults() == []


def test_a_load_balancer_that_gives_no_new_ports_is_not_filled_and_keeps_what_it_has(pool: LivePool) -> None:
    put(pool, 0, 1)
    held = pool.allocate("games/a")
    pool.configure([listed(2, capacity=0)])
    assert missing(pool) == {}
    pool.fail("games/b")
    pool.release("games/a", held)
    assert pool.faults() == []
    pool.configure([listed(2)])
    assert (pool.view().free, missing(pool)) == (2, {"lb-0": 3})


def test_a_load_balancer_that_left_the_pool_leaves_no_stock(pool: LivePool) -> None:
    put(pool, 0, 1)
    pool.configure([])
    assert Stock(pool.ledger).all() == {}
    assert missing(pool) == {}
    assert pool.faults() == []


class TestLostListeners:
    def test_a_free_port_is_not_given_any_more_and_is_filled_again(self, pool: LivePool) -> None:
        put(pool, 0, 1)
        assert Stock(pool.ledger).lost(f"lb-0:{START}", "arn:l0")
        assert (pool.view().capacity, missing(pool)) == (1, {"lb-0": 4})
        assert pool.ports("games/a") == [("lb-0", START + 1)]
        put(pool, 0)
        held = pool.allocate("games/b")
        assert pool.run("games/b").due == {held[0].key}  # its target group was there all the time

    def test_a_held_port_stays_held_and_is_taken_out_when_it_is_free(self, pool: LivePool) -> None:
        put(pool, 0)
        pool.allocate("games/a")
        Stock(pool.ledger).lost(f"lb-0:{START}", "arn:l0")
        assert pool.faults() == []
        pool.fail("games/b")
        pool.release("games/a")
        assert pool.faults() == []
        assert (pool.view().capacity, pool.view().free, missing(pool)) == (0, 0, {"lb-0": 5})
        assert put(pool, 0) == ("games/b",)

    def test_a_held_port_that_is_filled_again_is_an_ordinary_one(self, pool: LivePool) -> None:
        put(pool, 0)
        pool.allocate("games/a")
        Stock(pool.ledger).lost(f"lb-0:{START}", "arn:l0")
        put(pool, 0)
        pool.release("games/a")
        assert (pool.view().capacity, pool.view().free, missing(pool)) == (1, 1, {"lb-0": 4})
        assert pool.faults() == []

    def test_another_listener_than_the_one_in_stock_is_no_loss(self, pool: LivePool) -> None:
        put(pool, 0)
        assert not Stock(pool.ledger).lost(f"lb-0:{START}", "arn:other")
        assert pool.view().capacity == 1

    def test_a_port_that_turned_out_to_be_a_strangers_leaves_the_stock(self, pool: LivePool) -> None:
        put(pool, 0, 1)
        held = pool.allocate("games/a")[0]
        pool.run("games/a").foreign(held)
        assert (pool.view().capacity, pool.view().free) == (1, 1)
        assert f"lb-0:{START}" not in Stock(pool.ledger).all()
        assert pool.faults() == []


class TestTargets:
    """The address is noted before the call, and a wish to compare ends only by who has seen it."""

    @pytest.fixture
    def held(self, pool: LivePool) -> Entry:
        put(pool, 0)
        return pool.allocate("games/a")[0]

    def test_what_was_noted_is_seen_by_the_next_run_until_the_result_is_recorded(
        self, pool: LivePool, held: Entry
    ) -> None:
        told = pool.run("games/a").aim(held, "10.0.0.1:7777")
        assert (told.listener, told.target_group, set(told.tried)) == ("arn:l0", "arn:g0", {"10.0.0.1:7777"})
        heir = pool.run("games/a")
        assert heir.entries[0].tried == ("10.0.0.1:7777",)
        assert heir.aim(held, "10.0.0.2:7777").tried == {"10.0.0.1:7777", "10.0.0.2:7777"}
        heir.aimed(replace(held, target="10.0.0.2:7777", state=EntryState.BOUND), "")
        now = pool.run("games/a").entries[0]
        assert (now.target, now.tried, now.state, now.listener) == ("10.0.0.2:7777", (), "bound", "arn:l0")
        assert pool.run("games/a").aim(now, "").tried == {"10.0.0.2:7777"}

    def test_a_port_that_is_not_in_stock_is_told(self, pool: LivePool, held: Entry) -> None:
        Stock(pool.ledger).lost(held.key, "arn:l0")
        assert pool.run("games/a").aim(held, "10.0.0.1:7777").listener == ""

    @pytest.mark.row("EV-09")
    def test_a_wish_that_came_during_a_comparison_is_not_ended_by_it(self, pool: LivePool, held: Entry) -> None:
        stock = Stock(pool.ledger)
        stock.compare(held.key)
        run = pool.run("games/a")
        assert run.due == {held.key}
        first = run.aim(held, "10.0.0.1:7777")
        stock.compare(held.key)
        bound = replace(held, target="10.0.0.1:7777", state=EntryState.BOUND)
        assert run.aimed(bound, first.comparison)
        second = run.aim(bound, "10.0.0.1:7777")
        assert second.comparison != first.comparison
        assert not run.aimed(bound, second.comparison)
        assert pool.run("games/a").due == frozenset()

    @pytest.mark.row("EV-09")
    def test_a_wish_for_a_free_port_waits_for_its_next_owner(self, pool: LivePool, held: Entry) -> None:
        pool.release("games/a")
        Stock(pool.ledger).compare(held.key)
        pool.allocate("games/b")
        assert pool.run("games/b").due == {held.key}

    @pytest.mark.row("EV-09", "AL-18")
    @pytest.mark.parametrize("script", ["aim", "aimed"])
    def test_a_run_whose_port_has_another_owner_notes_nothing(self, pool: LivePool, held: Entry, script: str) -> None:
        pool.release("games/a")
        other = pool.allocate("games/b")[0]
        late = pool.run("games/a")
        with pytest.raises(EntryChanged):
            late.aim(held, "10.0.0.1:7777") if script == "aim" else late.aimed(held, "")
        assert pool.run("games/b").entries == (other,)


def test_after_a_rebuild_what_is_held_counts_and_everything_is_compared(redis: Redis) -> None:
    pool = LivePool(redis, "arena", START, SIZE, KINDS)
    held = entry(listener="", target_group="", lb="lb-0", port=START + 1)
    pool.rebuild({"games/a": [held], "games/b": [replace(held, port=START + 4)]})
    pool.configure([listed(3)])
    assert pool.faults() == []
    assert (pool.view().capacity, pool.view().free, missing(pool)) == (4, 2, {"lb-0": 1})
    assert pool.run("games/a").due == {f"lb-0:{START + 1}"}
