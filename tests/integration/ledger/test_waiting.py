"""The waiting list: who fails waits, who fits is woken, and nobody who fits is forgotten."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.integration.ledger.conftest import MakePool
from tests.support.ports.builders import load_balancer, load_balancers
from tests.support.ports.live_pool import IN_ORDER, LivePool, single
from workers.stores.ports.ledger import Full, Granted

NOW = timedelta(0)


@pytest.fixture
def full(make_pool: MakePool) -> LivePool:
    """Three ports, held by games/h0, h1 and h2."""
    pool = make_pool(lbs=[load_balancer(capacity=3)])
    for n in range(3):
        pool.allocate(f"games/h{n}")
    return pool


@pytest.mark.row("AL-22", "SU-03")
def test_a_failure_takes_nothing_and_waits_with_its_demand(full: LivePool) -> None:
    answer = full.fail("games/a", 2)
    assert answer.epoch == full.view().epoch
    assert full.waiting() == {"games/a"}
    assert (full.view().demand, full.run("games/a").waits) == (2, True)


@pytest.mark.row("AL-22")
def test_failing_again_counts_once_with_the_latest_demand(full: LivePool) -> None:
    for wants in (2, 5, 1):
        full.fail("games/a", wants)
    assert (full.view().waiting, full.view().demand) == (1, 1)


def test_only_what_is_lacking_counts_as_demand(full: LivePool) -> None:
    full.fail("games/h0", 3)
    assert full.view().demand == 2


@pytest.mark.row("SU-13")
def test_a_freed_port_wakes_who_waits(full: LivePool) -> None:
    full.fail("games/a")
    assert full.release("games/h0") == ("games/a",)
    assert full.ports("games/a") == [("lb-0", 30000)]
    assert full.waiting() == set()


@pytest.mark.row("SU-13")
def test_those_who_came_first_are_woken_first(full: LivePool) -> None:
    joined: list[str] = []
    for name in ("games/z", "games/m", "games/a"):
        full.fail(name)
        joined.append(name)
        before = full.redis.time()
        while full.redis.time() == before or _millisecond(full) == _joined(full, name):
            pass  # the list is ordered by milliseconds
    woken = [full.release(f"games/h{n}")[0] for n in range(3)]
    assert woken == joined


def _millisecond(pool: LivePool) -> int:
    seconds, micros = pool.redis.time()
    return int(seconds) * 1000 + int(micros) // 1000


def _joined(pool: LivePool, name: str) -> int:
    score: Any = pool.redis.zscore(f"{pool.ledger.prefix}waiting", name)
    return int(score)


def test_failing_again_keeps_the_place_in_the_line(full: LivePool) -> None:
    full.fail("games/b")
    before = _joined(full, "games/b")
    full.fail("games/b", 2)
    assert _joined(full, "games/b") == before


def test_a_demand_that_does_not_fit_is_passed_over(full: LivePool) -> None:
    full.fail("games/big", 2)
    full.fail("games/small", 1)
    assert full.release("games/h0") == ("games/small",)


def test_room_that_is_kept_for_the_woken_wakes_nobody_else(full: LivePool) -> None:
    full.fail("games/a")
    full.fail("games/b")
    assert len(full.release("games/h0")) == 1
    assert full.sweep() == ()


@pytest.mark.row("SU-07", "SU-08")
def test_a_waiter_stays_on_the_list_when_it_is_woken(full: LivePool) -> None:
    """Rule stays: whoever woke it may die before the message is sent."""
    full.fail("games/a")
    full.release("games/h0")  # and the message is lost
    assert full.waiting() == {"games/a"}
    assert full.sweep(timedelta(hours=1)) == ()
    assert full.sweep(forgotten=NOW) == ("games/a",)
    assert full.ports("games/a") == [("lb-0", 30000)]


@pytest.mark.row("SU-08", "SU-13")
def test_the_sweep_wakes_who_fits(full: LivePool) -> None:
    """Rule sweepwakes: it does not only ask for more load balancers."""
    full.fail("games/a")
    full.redis.zrem(f"{full.ledger.prefix}woken", "games/a")
    full.release("games/h0")
    assert full.sweep(forgotten=NOW) == ("games/a",)


def test_the_run_of_an_owner_that_is_gone_takes_it_off_the_list(full: LivePool) -> None:
    """Rule unwait: else its demand would ask for load balancers for ever."""
    full.fail("games/a", 2)
    full.run("games/a").leave()
    assert (full.waiting(), full.view().demand) == (set(), 0)


@pytest.mark.row("SU-13")
def test_a_woken_waiter_that_leaves_passes_the_room_on(full: LivePool) -> None:
    """Rule passon."""
    for name in ("games/a", "games/b"):
        full.fail(name)
    (first,) = full.release("games/h0")
    (second,) = full.run(first).leave()
    assert {first, second} == {"games/a", "games/b"}
    assert full.ports(second) == [("lb-0", 30000)]


@pytest.fixture
def kept(full: LivePool) -> LivePool:
    """`big` is woken for two ports; a newcomer took both, gave one back, and `small` waits for it."""
    full.fail("games/big", 2)
    full.release("games/h0")
    assert full.release("games/h1") == ("games/big",)
    (first, _) = full.allocate("games/new", 2)
    full.fail("games/small")
    assert full.release("games/new", [first]) == ()
    return full


@pytest.mark.row("SU-13")
def test_a_woken_waiter_that_fails_again_passes_the_room_on(kept: LivePool) -> None:
    """Rule passon."""
    assert kept.fail("games/big", 2).woken == ("games/small",)
    assert kept.waiting() == {"games/big", "games/small"}


@pytest.mark.row("SU-13")
def test_a_woken_waiter_that_takes_less_than_was_kept_passes_the_rest_on(kept: LivePool) -> None:
    kept.release("games/new")
    answer = kept.try_allocate("games/big", 1)
    assert isinstance(answer, Granted)
    assert answer.woken == ("games/small",)


def test_a_run_of_ports_that_fits_nowhere_is_not_woken_by_its_own_failure(make_pool: MakePool) -> None:
    """Else it would run, fail and be woken for ever: in number its ports would fit."""
    pool = make_pool(lbs=load_balancers(2, capacity=1))
    assert pool.fail("games/a", [("rtp", 2)]).woken == ()
    pool.sweep(NOW)
    assert pool.fail("games/a", [("rtp", 2)]).woken == ()


@pytest.mark.row("SU-13")
def test_a_port_given_to_a_stranger_is_no_room_for_a_waiter(full: LivePool) -> None:
    full.fail("games/a")
    run = full.run("games/h0")
    assert run.foreign(run.entries[0]) == ()
    assert full.sweep() == ()


def test_nobody_is_woken_in_a_pool_that_is_not_active(full: LivePool) -> None:
    full.fail("games/a")
    full.configure([load_balancer(capacity=3)], state="Deleting")
    assert full.release("games/h0") == ()
    assert full.configure([load_balancer(capacity=3)]) == ("games/a",)


@pytest.mark.row("SU-13", "SU-03")
def test_any_number_of_waiters_is_woken_at_once(make_pool: MakePool) -> None:
    """More names than Lua can unpack to a stack."""
    pool = make_pool(lbs=[])
    pool.fail_many(f"games/p{n}" for n in range(8_100))
    assert len(set(pool.configure(load_balancers(200)))) == 8_100


@pytest.mark.row("AL-23")
def test_a_full_pool_answers_without_looking_at_its_load_balancers(make_pool: MakePool) -> None:
    """Counted in commands, which no machine is too slow for: the same with 1 and with 500 full load balancers."""
    counts = []
    for name, lbs in (("small", 1), ("large", 500)):
        pool = make_pool(name=name, start=30000, size=35000, lbs=load_balancers(lbs))
        pool.fill(lbs * 50)
        run = pool.run("games/a")
        pool.redis.config_resetstat()
        assert isinstance(run.allocate("uid-of-a", single(1), IN_ORDER), Full)
        counts.append(_commands(pool))
    assert counts[0] == counts[1]
    assert sum(counts[0].values()) <= 19  # three of them once a wait: the entry of its event


@pytest.mark.row("AL-23")
def test_a_demand_beyond_all_free_ports_is_answered_without_looking_at_load_balancers(make_pool: MakePool) -> None:
    pool = make_pool(lbs=load_balancers(60, capacity=1))
    run = pool.run("games/a")
    pool.redis.config_resetstat()
    assert isinstance(run.allocate("uid-of-a", single(61), IN_ORDER), Full)
    assert sum(_commands(pool).values()) <= 19


@pytest.mark.row("AL-23")
def test_an_allocation_meets_only_load_balancers_with_room(make_pool: MakePool) -> None:
    pool = make_pool(size=35000, lbs=load_balancers(200))
    pool.fill(199 * 50)
    run = pool.run("games/a")
    pool.redis.config_resetstat()
    answer = run.allocate("uid-of-a", single(1), IN_ORDER)
    assert isinstance(answer, Granted)
    assert answer.entries[0].lb == "lb-199"
    assert sum(_commands(pool).values()) <= 11


def _commands(pool: LivePool) -> dict[str, int]:
    """How often each command ran, inside scripts as well."""
    stats: Any = pool.redis.info("commandstats")
    return {name: row["calls"] for name, row in stats.items() if "config" not in name and "info" not in name}
