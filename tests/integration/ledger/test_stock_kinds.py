"""A want gets a precreated listener of its own kind, and a kind that is short wakes and grows by itself."""

from __future__ import annotations

from datetime import timedelta

import pytest
from redis import Redis

from tests.integration.ledger.intents import intent_of
from tests.integration.ledger.stocks import SIZE, TCP, UDP, put, unfilled
from tests.support.ports.builders import START, load_balancer
from tests.support.ports.live_pool import LivePool


@pytest.fixture
def full(redis: Redis) -> LivePool:
    """Five listeners on one load balancer, three of TCP and then two of UDP."""
    pool = unfilled(redis)
    put(pool, 0, 1, 2, 3, 4)
    return pool


@pytest.mark.row("PP-10")
def test_every_want_gets_a_listener_of_its_kind(full: LivePool) -> None:
    got = full.allocate("games/a", [("7/UDP", 1, UDP), ("8/TCP", 1, TCP), ("9/TCP", 1, TCP)])
    assert {e.want: e.port - START for e in got} == {"7/UDP": 3, "8/TCP": 0, "9/TCP": 1}
    again = full.allocate("games/a", [("7/UDP", 1, UDP), ("8/TCP", 1, TCP), ("9/TCP", 1, TCP)])
    assert again == got
    assert full.faults() == []


@pytest.mark.row("PP-10", "AL-12")
def test_ports_in_a_row_do_not_cross_into_another_kind(full: LivePool) -> None:
    full.allocate("games/a", [("7/TCP", 1, TCP)])
    got = full.allocate("games/b", [("10-11/TCP", 2, TCP)])
    assert [e.port - START for e in got] == [1, 2]
    full.release("games/b")
    full.allocate("games/c", [("7/TCP", 1, TCP)])
    full.fail("games/b", [("10-11/TCP", 2, TCP)])


@pytest.mark.row("SU-13")
def test_a_port_of_one_kind_wakes_nobody_who_wants_another(full: LivePool) -> None:
    full.allocate("games/a", [(f"{n}/TCP", 1, TCP) for n in range(3)])
    full.allocate("games/b", [(f"{n}/UDP", 1, UDP) for n in range(2)])
    for name in ("games/u1", "games/u2"):
        full.fail(name, [("7/UDP", 1, UDP)])
    full.fail("games/t", [("7/TCP", 1, TCP)])
    assert full.release("games/a") == ("games/t",)
    assert full.release("games/b") == ("games/u1", "games/u2")
    assert full.faults() == []


@pytest.mark.row("SU-13")
def test_waiters_that_fail_with_ports_free_do_not_wake_each_other_for_ever(full: LivePool) -> None:
    """A row of two, where only single ports are free."""
    full.allocate("games/a", [(f"{n}/TCP", 1, TCP) for n in range(3)])
    full.allocate("games/u", [(f"{n}/UDP", 1, UDP) for n in range(2)])
    names, woken = ("games/r1", "games/r2"), 0
    for name in names:
        full.fail(name, [("10-11/TCP", 2, TCP)])
    held = full.run("games/a").entries
    queue = list(full.release("games/a", [held[0], held[2]]))
    while queue and woken < 10:
        queue += full.fail(queue.pop(0), [("10-11/TCP", 2, TCP)]).woken
        woken += 1
    assert woken <= len(names)
    assert full.sweep() == ()
    assert full.faults() == []


@pytest.mark.row("SU-04")
def test_a_kind_that_is_short_makes_the_pool_grow_although_ports_of_another_are_free(full: LivePool) -> None:
    full.allocate("games/b", [(f"{n}/UDP", 1, UDP) for n in range(2)])
    full.fail("games/u", [("7/UDP", 1, UDP)])
    assert full.growth.pressure(timedelta(hours=1)).short == 1
    found = intent_of(full, capacity=SIZE)
    full.growth.close(found, [load_balancer(n, capacity=SIZE) for n in found.slots])
    assert full.growth.pressure(timedelta(hours=1)).short == 0  # what is still to come serves it
    assert put(full, 0, lb="lb-1") == ()
    assert put(full, 3, lb="lb-1") == ("games/u",)
