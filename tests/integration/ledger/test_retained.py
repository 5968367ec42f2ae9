"""Ports that wait for the next pod of their owner's name: kept, taken over, or given back when their time is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from berthmaster.errors import StaleToken
from domain.ports.entry import Entry, EntryState
from tests.integration.ledger.conftest import MakePool
from tests.support.ports.builders import load_balancer
from tests.support.ports.live_pool import LivePool
from workers.stores.ports.ledger import EntryChanged, Full, PodLedger

NOW = timedelta(0)
DAY = 86400


def bound(pool: LivePool, retain: int = DAY, uid: str = "old", ports: int = 1) -> tuple[Entry, ...]:
    """Entries of games/a that are recorded bound."""
    pool.allocate(uid=uid, wants=ports)
    run = pool.run()
    cloud: dict[str, Any] = {
        "state": EntryState.BOUND,
        "listener": "arn:l",
        "target_group": "arn:g",
        "target": "10.0.0.1:7000",
    }
    run.record(uid, [replace(e, **cloud, retain=retain) for e in run.entries])
    return pool.run().entries


def retained(pool: LivePool, retain: int = DAY, ports: int = 1) -> tuple[Entry, ...]:
    for entry in bound(pool, retain, ports=ports):
        pool.run().retain(entry)
    return pool.run().entries


@pytest.mark.row("BD-22")
def test_a_retained_port_keeps_its_listener_and_is_given_to_nobody(make_pool: MakePool) -> None:
    pool = make_pool(lbs=[load_balancer(capacity=1)])
    (held,) = bound(pool)
    until = pool.run().retain(held)
    assert pool.run().entries == (replace(held, state=EntryState.RETAINED, target="", until=until),)
    assert isinstance(pool.try_allocate("games/b"), Full)


@pytest.mark.row("BD-22")
def test_the_time_of_a_retained_port_does_not_begin_anew(pool: LivePool) -> None:
    (held,) = retained(pool)
    assert pool.run().retain(held) == held.until


@pytest.mark.row("BD-22")
def test_the_next_pod_of_the_name_takes_the_port_over(pool: LivePool) -> None:
    (held,) = retained(pool)
    pool.run().inherit("new", [held])
    (mine,) = pool.run().entries
    assert mine == replace(held, uid="new", until=0)
    assert pool.ledger.expire() == ()
    answer = pool.allocate(uid="new")
    assert answer == (mine,)  # it is not given another for the same want


@pytest.mark.row("BD-22", "BD-23")
def test_a_pod_that_was_replaced_at_once_leaves_its_bound_port_to_the_next(pool: LivePool) -> None:
    (held,) = bound(pool)
    pool.run().inherit("new", [held])
    assert [(e.uid, e.state, e.target) for e in pool.run().entries] == [("new", EntryState.RETAINED, "")]


@pytest.mark.row("BD-22", "AL-17")
def test_what_is_releasing_or_was_never_bound_is_neither_retained_nor_taken_over(pool: LivePool) -> None:
    (first,), (other,) = pool.allocate(uid="old"), pool.allocate("games/b")
    pool.run("games/b").releasing(other)
    for name, entry in (("games/a", first), ("games/b", other)):
        with pytest.raises(EntryChanged):
            pool.run(name).retain(entry)
        with pytest.raises(EntryChanged):
            pool.run(name).inherit("new", [entry])


@pytest.mark.row("BD-22")
def test_all_of_what_is_taken_over_is_still_there_or_none_is_taken(pool: LivePool) -> None:
    first, second = retained(pool, ports=2)
    pool.run().releasing(second)
    with pytest.raises(EntryChanged):
        pool.run().inherit("new", [first, second])
    assert [e.uid for e in pool.run().entries] == ["old", "old"]


@pytest.mark.row("BD-22", "AL-17")
def test_an_entry_is_taken_over_from_the_uid_that_was_seen_only(pool: LivePool) -> None:
    (held,) = retained(pool)
    pool.run().inherit("second", [held])
    with pytest.raises(EntryChanged):
        pool.run().inherit("third", [held])
    with pytest.raises(EntryChanged):
        pool.run().retain(held)


WRITES: dict[str, Callable[[PodLedger, Entry], object]] = {
    "retain": lambda run, held: run.retain(held),
    "inherit": lambda run, held: run.inherit("new", [held]),
}


@pytest.mark.row("BD-22", "BD-23")
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_paused_run_neither_retains_nor_takes_over(
    pool: LivePool, write: Callable[[PodLedger, Entry], object]
) -> None:
    (held,) = bound(pool)
    paused = pool.run()
    pool.run()
    with pytest.raises(StaleToken):
        write(paused, held)
    assert pool.run().entries == (held,)


# ---- the end of the time


@pytest.mark.row("BD-22", "AL-17")
def test_a_port_whose_time_is_over_is_released_and_then_free(make_pool: MakePool) -> None:
    pool = make_pool(lbs=[load_balancer(capacity=1)])
    retained(pool, retain=0)
    assert pool.ledger.expire() == ("games/a",)
    (left,) = pool.run().entries
    assert (left.state, left.listener, left.until) == (EntryState.RELEASING, "arn:l", 0)
    with pytest.raises(EntryChanged):
        pool.run().inherit("new", [left])
    pool.release("games/a")
    assert pool.ports("games/b") == [("lb-0", 30000)]


@pytest.mark.row("BD-22")
def test_before_its_time_nothing_is_over(pool: LivePool) -> None:
    before = retained(pool, ports=2)
    assert pool.ledger.expire() == ()
    assert pool.run().entries == before


@pytest.mark.row("BD-22")
def test_the_sweep_ends_only_what_is_still_retained(pool: LivePool) -> None:
    """Shortest trace of the model without its rule `atomic`: taken over right before the sweep writes."""
    (held,) = retained(pool, retain=0)
    run = pool.run()
    run.inherit("new", [held])
    run.record("new", [replace(held, uid="new", state=EntryState.BOUND)])
    assert pool.ledger.expire() == ()
    assert [e.state for e in pool.run().entries] == [EntryState.BOUND]


@pytest.mark.row("BD-22", "AL-21")
def test_a_name_is_told_again_until_it_has_released(pool: LivePool) -> None:
    """The worker that was told may have died; a pod that waits out an error is not told every second."""
    retained(pool, retain=0)
    assert pool.ledger.expire(NOW) == ("games/a",)
    assert pool.ledger.expire(timedelta(hours=1)) == ("games/a",)
    assert pool.ledger.expire() == ()


@pytest.mark.row("BD-22")
def test_of_one_name_each_port_has_its_own_time(pool: LivePool) -> None:
    short, long = bound(pool, ports=2)
    run = pool.run()
    run.record("old", [replace(short, retain=0), long])
    run.retain(long)
    run.retain(short)
    assert pool.ledger.expire() == ("games/a",)
    assert [e.state for e in pool.run().entries] == [EntryState.RELEASING, EntryState.RETAINED]


@pytest.mark.row("BD-22")
def test_a_name_that_has_nothing_retained_any_more_leaves_the_list(pool: LivePool) -> None:
    retained(pool, retain=0)
    pool.ledger.expire(NOW)
    pool.release("games/a")
    assert pool.ledger.expire(NOW) == ()
    assert pool.redis.zcard(f"{pool.ledger.prefix}retained") == 0


# ---- Redis is lost


@pytest.mark.row("BD-22", "AL-19")
def test_after_a_loss_of_redis_no_time_runs_before_a_run_has_looked(make_pool: MakePool) -> None:
    pool = make_pool()
    (held,) = retained(pool, retain=0)
    pool.redis.flushall()
    pool.rebuild({"games/a": [replace(held, until=0)]})
    pool.configure([load_balancer()])
    assert pool.ledger.expire() == ()
    (again,) = pool.run().entries
    assert (again.state, again.until) == (EntryState.RETAINED, 0)
    assert pool.run().retain(again) >= held.until
    assert pool.ledger.expire() == ("games/a",)
