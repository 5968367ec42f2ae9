"""Giving ports back: once, by their owner only, and never while the cloud may still have something on them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.ports.entry import EntryState
from tests.integration.ledger.conftest import MakePool
from tests.support.ports.builders import load_balancer
from tests.support.ports.live_pool import IN_ORDER, LivePool
from workers.stores.ports.ledger import EntryChanged, Full


def test_a_released_port_is_free_again(pool: LivePool) -> None:
    pool.allocate("games/a", 3)
    pool.release("games/a")
    assert pool.held() == {}
    assert pool.ports("games/b", 3) == [("lb-0", 30000), ("lb-0", 30001), ("lb-0", 30002)]


@pytest.mark.row("AL-17")
def test_a_second_release_does_not_free_the_port_of_another(pool: LivePool) -> None:
    (old,) = pool.allocate("games/a")
    pool.release("games/a")
    (new,) = pool.allocate("games/b")
    assert new.id == old.id
    run = pool.run("games/a")
    with pytest.raises(EntryChanged):
        run.releasing(old)
    with pytest.raises(EntryChanged):
        run.free(old)
    assert pool.held() == {"games/b": (new,)}


@pytest.mark.row("AL-18", "BD-23")
def test_a_late_release_of_the_old_uid_does_not_free_the_port_of_the_new_one(pool: LivePool) -> None:
    """Rule byarn."""
    (held,) = pool.allocate(uid="new")
    run = pool.run()
    for late in (run.releasing, run.free, run.confirm, run.foreign):
        with pytest.raises(EntryChanged):
            late(replace(held, uid="old"))
    assert pool.held() == {"games/a": (held,)}


@pytest.mark.row("AL-18")
def test_a_late_release_of_the_old_uid_does_not_free_what_the_new_one_is_releasing(pool: LivePool) -> None:
    """The new pod's listener may be there still."""
    (held,) = pool.allocate(uid="new")
    run = pool.run()
    run.releasing(held)
    with pytest.raises(EntryChanged):
        run.free(replace(held, uid="old"))
    assert [e.id for e in pool.run().entries] == [held.id]


@pytest.mark.row("AL-18")
def test_nobody_frees_a_port_of_another_name(pool: LivePool) -> None:
    (held,) = pool.allocate("games/a")
    with pytest.raises(EntryChanged):
        pool.run("games/b").releasing(held)
    assert pool.held() == {"games/a": (held,)}


@pytest.mark.row("FZ-03")
def test_a_bound_port_is_not_freed_before_it_was_said_to_be_releasing(pool: LivePool) -> None:
    (held,) = pool.allocate()
    run = pool.run()
    run.record(held.uid, [replace(held, state=EntryState.BOUND, listener="arn:l")])
    with pytest.raises(EntryChanged):
        run.free(held)


@pytest.mark.row("FZ-03")
def test_a_port_that_is_releasing_is_given_to_nobody(make_pool: MakePool) -> None:
    pool = make_pool(lbs=[load_balancer(capacity=1)])
    (held,) = pool.allocate("games/a")
    pool.run("games/a").releasing(held)
    assert isinstance(pool.try_allocate("games/b"), Full)


@pytest.mark.row("AL-12")
def test_a_run_rolls_back_what_it_has_just_allocated(pool: LivePool) -> None:
    run = pool.run()
    answer = run.allocate("uid-of-a", [("7000/UDP", 1)], IN_ORDER)
    assert not isinstance(answer, Full)
    run.free(answer.entries[0])  # type: ignore[union-attr] # not Closed: the pool is active
    assert pool.held() == {}


def test_what_an_earlier_run_allocated_is_not_rolled_back(pool: LivePool) -> None:
    """It may have died after its call to the cloud."""
    (held,) = pool.allocate()
    with pytest.raises(EntryChanged):
        pool.run().free(held)


@pytest.mark.row("AL-21")
def test_a_crash_in_the_middle_of_a_release_loses_no_port(make_pool: MakePool) -> None:
    pool = make_pool(lbs=[load_balancer(capacity=1)])
    (held,) = pool.allocate("games/a")
    pool.run("games/a").releasing(held)  # and dies
    pool.release("games/a")
    assert pool.ports("games/b") == [("lb-0", 30000)]


def test_a_hundred_pods_through_twenty_ports_leave_twenty_free(make_pool: MakePool) -> None:
    pool = make_pool(lbs=[load_balancer(n, capacity=10) for n in range(2)])
    for n in range(100):
        pool.allocate(f"games/p{n}")
        if n >= 19:
            pool.release(f"games/p{n - 19}")
    for n in range(81, 100):
        pool.release(f"games/p{n}")
    assert (pool.view().free, pool.view().allocated) == (20, 0)


# ---- leftovers


@pytest.mark.row("FZ-07")
def test_the_sweep_takes_a_free_port_of_an_orphan_as_releasing(pool: LivePool) -> None:
    """Rule sweepclaim: else the port could be given out between the look and the delete."""
    assert pool.ledger.orphan("games/gone", "uid-of-gone", "lb-0:30000", "arn:l", "arn:g") == "OK"
    (left,) = pool.run("games/gone").entries
    assert (left.uid, left.state, left.listener) == ("uid-of-gone", EntryState.RELEASING, "arn:l")
    assert pool.ports("games/a") == [("lb-0", 30001)]
    pool.release("games/gone")
    assert pool.ports("games/b") == [("lb-0", 30000)]


@pytest.mark.row("FZ-07")
@pytest.mark.parametrize("key", ["lb-0:30000", "lb-9:30001", "lb-0:29999", "lb-0:65536", "lb-0:99999999999999999999"])
def test_the_sweep_takes_no_port_that_has_an_owner_or_is_not_of_the_pool(pool: LivePool, key: str) -> None:
    (held,) = pool.allocate("games/a")
    assert pool.ledger.orphan("games/gone", "uid-of-gone", key, "arn:l", "arn:g") != "OK"
    assert pool.held() == {"games/a": (held,)}


@pytest.mark.row("BD-19")
def test_a_bound_entry_whose_listener_is_missing_loses_it(pool: LivePool) -> None:
    """Rule audit."""
    (held,) = pool.allocate()
    bound = replace(held, state=EntryState.BOUND, listener="arn:l", target_group="arn:g", target="10.0.0.1:7000")
    pool.run().record(held.uid, [bound])
    assert not pool.growth.missing("games/a", replace(bound, listener="arn:other"))
    assert pool.growth.missing("games/a", bound)
    assert pool.run().entries == (replace(bound, listener="", target=""),)
    assert not pool.growth.missing("games/a", bound)
