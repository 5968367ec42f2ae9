"""Closing an intent: its load balancers, the epoch and the waiters change in one step; strays come in the same way."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.integration.ledger.conftest import MakePool
from tests.integration.ledger.intents import intent_of, made
from tests.support.ports.builders import NLB, load_balancer, load_balancers
from tests.support.ports.live_pool import LivePool
from workers.stores.ports.ledger import Full

LEASE = timedelta(seconds=30)


@pytest.mark.row("SU-02", "SU-06", "SU-14")
def test_the_load_balancers_are_there_before_anybody_is_woken(make_pool: MakePool) -> None:
    """The range ends at 30003, so that a port can only come from another load balancer."""
    pool = make_pool(lbs=[load_balancer(capacity=4)], size=4)
    pool.allocate("games/h", 4)
    pool.fail("games/a", 2)
    intent = intent_of(pool, capacity=4)
    assert pool.growth.close(intent, made(intent, 4)) == ("games/a",)
    assert pool.ports("games/a", 2) == [("lb-1", 30000), ("lb-1", 30001)]


@pytest.mark.row("SU-05", "SU-14")
def test_closing_raises_the_epoch(empty: LivePool) -> None:
    answer = empty.fail("games/a")
    intent = intent_of(empty)
    empty.growth.close(intent, made(intent))
    assert int(empty.view().epoch) == int(answer.epoch) + 1


@pytest.mark.row("SU-08")
def test_what_still_does_not_fit_is_seen_at_the_new_epoch(empty: LivePool) -> None:
    """Rule residual: the winner asks again, for it alone knows that its round was too small."""
    empty.fail("games/a", 50)
    empty.fail("games/b", 30)
    intent = intent_of(empty, per_round=1)
    woken = empty.growth.close(intent, made(intent))
    assert woken is not None
    assert len(woken) == 1
    pressure = empty.growth.pressure(LEASE)
    assert (pressure.short, pressure.intent_open, pressure.epoch) == (30, False, empty.view().epoch)
    assert intent_of(empty, pressure.epoch).slots == (1,)


@pytest.mark.row("SU-07")
def test_the_sweep_sees_an_intent_whose_winner_died(empty: LivePool) -> None:
    empty.fail("games/a")
    intent_of(empty)
    empty.run("games/a").leave()  # nobody waits any more
    pressure = empty.growth.pressure(LEASE)
    assert (pressure.short, pressure.intent_open) == (0, True)


@pytest.mark.row("PP-07", "PP-06")
def test_the_fifty_first_port_goes_to_the_second_load_balancer(empty: LivePool) -> None:
    empty.configure([load_balancer()])
    for n in range(50):
        assert empty.ports(f"games/p{n}") == [("lb-0", 30000 + n)]
    assert isinstance(empty.try_allocate("games/late"), Full)
    intent = intent_of(empty)
    assert empty.growth.close(intent, made(intent)) == ("games/late",)
    assert empty.ports("games/late") == [("lb-1", 30000)]


# ---- load balancers outside the ledger


@pytest.mark.row("PP-19", "SU-07")
def test_a_load_balancer_outside_the_ledger_is_adopted_through_an_intent(empty: LivePool) -> None:
    """Rule adopt: even when nobody waits for it."""
    epoch = empty.growth.adopt(2)
    assert epoch == empty.view().epoch
    intent = intent_of(empty, epoch)
    assert intent.slots == (2,)
    empty.growth.close(intent, made(intent))
    assert empty.view().capacity == NLB


@pytest.mark.row("PP-19")
def test_nothing_is_adopted_while_an_intent_is_open_or_the_slot_is_known(make_pool: MakePool) -> None:
    pool = make_pool(lbs=[load_balancer(0, capacity=1)])
    assert pool.growth.adopt(0) is None
    pool.allocate("games/h")
    pool.fail("games/a")
    intent_of(pool)
    assert pool.growth.adopt(2) is None


def test_an_adopted_load_balancer_that_still_carries_ports_has_less_to_give(make_pool: MakePool) -> None:
    pool = make_pool(lbs=load_balancers(2, capacity=3))
    pool.allocate("games/h", 3)
    pool.configure([load_balancer(1, capacity=3)])  # lb-0 was not listed
    assert pool.growth.adopt(0)
    intent = intent_of(pool)
    pool.growth.close(intent, made(intent, 3))
    assert pool.view().free == 3
    assert pool.ports("games/a") == [("lb-1", 30000)]
