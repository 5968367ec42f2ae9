"""Ports in a row: on one load balancer, from a boundary on, whole or anew; and what waits for them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.integration.ledger.conftest import MakePool
from tests.integration.ledger.intents import intent_of, refused
from tests.support.ports.builders import load_balancer
from tests.support.ports.live_pool import IN_ORDER, LivePool
from workers.stores.ports.ledger import Granted

ALWAYS = timedelta(hours=1)


@pytest.mark.row("PP-08")
@pytest.mark.parametrize("stranger", [30005, 30006, 30008])
def test_a_segment_starts_on_a_boundary_and_ends_within_the_range(make_pool: MakePool, stranger: int) -> None:
    """Boundaries are counted from the pool's first port, and a stranger's port spoils only its own segment."""
    pool = make_pool(start=30001, size=18, lbs=[load_balancer(foreign=(stranger,))])
    found: list[list[int]] = []
    while isinstance(answer := pool.run(f"games/p{len(found)}").allocate("u", [("a", 4)], IN_ORDER, 4), Granted):
        found.append([e.port for e in answer.entries])
    assert found == [list(range(first, first + 4)) for first in (30001, 30009, 30013)]


@pytest.mark.row("AL-14")
def test_a_run_that_lost_a_port_is_given_anew_as_a_whole(pool: LivePool) -> None:
    """Judged by its first port alone it would never be whole again."""
    lost = pool.allocate("games/a", [("rtp", 3)])[1]
    pool.run("games/a").foreign(lost)
    found = pool.allocate("games/a", [("rtp", 3)])
    left = [(30000, "rtp+0"), (30002, "rtp+2")]
    assert [(e.port, e.want) for e in found] == left + [(30003 + n, f"rtp+{n}") for n in range(3)]
    assert pool.allocate("games/a", [("rtp", 3)]) == found


@pytest.mark.row("AL-14")
def test_the_tail_of_a_longer_run_is_no_shorter_run(pool: LivePool) -> None:
    first, *tail = pool.allocate("games/a", [("rtp", 3)])
    pool.run("games/a").foreign(first)
    found = pool.allocate("games/a", [("rtp", 2)])
    assert [(e.port, e.want) for e in found if e not in tail] == [(30003, "rtp+0"), (30004, "rtp+1")]


@pytest.fixture
def holes(make_pool: MakePool) -> LivePool:
    """Four ports: the second and the fourth are held by games/p1 and p3."""
    pool = make_pool(lbs=[load_balancer(capacity=4)], size=4)
    for n in range(4):
        pool.allocate(f"games/p{n}")
    pool.release("games/p0")
    pool.release("games/p2")
    return pool


@pytest.mark.row("SU-01")
def test_free_ports_are_no_supply_for_who_waits_for_some_in_a_row(holes: LivePool) -> None:
    """Rule stuck: else a fragmented pool never grows."""
    holes.fail("games/a", [("rtp", 2)])
    assert holes.growth.pressure(ALWAYS).short == 2
    assert intent_of(holes).slots == (1,)


@pytest.mark.row("SU-04")
def test_who_is_woken_counts_as_served_until_it_has_failed_again(holes: LivePool) -> None:
    """Else a port that was given back and a load balancer would both be for the same waiter (I5)."""
    holes.fail("games/a", [("rtp", 2)])
    assert holes.release("games/p1") == ("games/a",)
    assert refused(holes) == "ENOUGH"
    assert holes.ports("games/a", [("rtp", 2)]) == [("lb-0", 30000), ("lb-0", 30001)]


@pytest.mark.row("SU-04")
def test_a_woken_waiter_without_progress_is_stuck_again(holes: LivePool) -> None:
    holes.fail("games/a", [("rtp", 3)])
    holes.release("games/p1")
    assert holes.growth.pressure(timedelta(0)).woken == ("games/a",)
    holes.allocate("games/b", 2)
    assert holes.growth.pressure(timedelta(0)).short == 3


@pytest.mark.row("SU-04", "SU-11")
def test_single_ports_that_fit_ask_for_nothing_beside_a_stuck_range(holes: LivePool) -> None:
    holes.fail("games/a", [("rtp", 3)])
    assert intent_of(holes, capacity=3).slots == (1,)


@pytest.mark.row("SU-13")
def test_a_waiter_that_leaves_takes_its_demand_along(holes: LivePool) -> None:
    holes.fail("games/a", [("rtp", 3)])
    holes.run("games/a").leave()
    holes.fail("games/b", [("rtp", 3)])
    holes.fail("games/b", 3)
    holes.run("games/b").leave()
    assert (holes.view().demand, refused(holes)) == (0, "ENOUGH")
