"""Which of the ports that a pod holds serve what it asks for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.ports.endpoints import published_ids
from domain.ports.entry import Entry, EntryState
from domain.ports.holding import by_key, complete_ranges, entries_to_keep
from domain.ports.request import parse_ports
from tests.support.ports.pure_run import PurePool, PureWorld
from tests.unit.ports.worlds import bound_world, kinds, world

RANGE = "rtp=10-12/UDP@arena"
(WANT,) = parse_ports(RANGE)


def run(first: int = 30000, lb: str = "bm-arena-0", **changes: object) -> list[Entry]:
    """A run of the three ports, allocated."""
    made = [Entry("arena", lb, first + n, key, "uid-a", EntryState.ALLOCATED) for n, key in enumerate(WANT.keys)]
    return [replace(entry, **changes) for entry in made]  # type: ignore[arg-type]  # fields of Entry


def kept(entries: list[Entry], shown: list[Entry] | None = None) -> list[int]:
    return [e.port for e in entries_to_keep(WANT, by_key(entries), {e.id for e in shown or []})]


@pytest.mark.row("PP-08", "AL-14")
def test_a_run_is_whole_only_on_ports_in_a_row_of_one_load_balancer() -> None:
    assert len(complete_ranges(WANT, by_key(run()))) == 1
    assert complete_ranges(WANT, by_key(run()[:2])) == []
    assert complete_ranges(WANT, by_key(run()[:2] + run(lb="bm-arena-1")[2:])) == []
    assert complete_ranges(WANT, by_key(run()[:2] + run(30001)[2:])) == []
    assert complete_ranges(WANT, by_key([*run()[:2], replace(run()[2], state=EntryState.RELEASING)])) == []


@pytest.mark.row("AL-14")
def test_of_two_whole_runs_the_published_one_is_kept_else_the_first() -> None:
    both = run(30003) + run()
    assert kept(both) == [30000, 30001, 30002]
    assert kept(both, run(30003)) == [30003, 30004, 30005]


@pytest.mark.row("AL-14")
def test_of_a_broken_run_stays_what_is_bound_and_published() -> None:
    left = run(state=EntryState.BOUND)[1:]
    assert kept(left) == []
    assert kept(left, left[:1]) == [30001]
    assert kept(run()[1:], run()) == []


@pytest.mark.row("AL-14")
def test_a_whole_run_makes_the_rest_of_a_broken_one_surplus() -> None:
    left = run(state=EntryState.BOUND)[1:]
    assert kept(left + run(30010), left) == [30010, 30011, 30012]


def lose(made: PureWorld, port: int) -> None:
    """A port goes to somebody else for good."""
    (place,) = [i for i in made.entries["a"] if i[2] == port]
    del made.entries["a"][place]
    made.known_foreign.add(place)


@pytest.mark.row("PP-08", "BD-08")
def test_a_stranger_in_the_middle_of_a_new_run_moves_the_whole_run() -> None:
    made = world(RANGE, arena=PurePool(room=6))
    made.foreign = {("arena", "bm-arena-0", 30001)}
    made.run()
    assert [e.port for e in made.held()] == [30002, 30003, 30004]
    assert made.shown().state == "Bound"


@pytest.mark.row("AL-14", "AL-12")
def test_what_is_left_of_a_published_run_serves_until_a_whole_one_is_there() -> None:
    made = bound_world(RANGE, arena=PurePool(room=3))
    lose(made, 30001)
    made.run()
    assert made.shown().state == "NoPortAvailable"
    assert published_ids(made.shown().endpoints) == {("arena", "bm-arena-0", port) for port in (30000, 30002)}
    assert all(e.state is EntryState.BOUND and e.target for e in made.held())
    made.pools["arena"].lbs = 2
    steps = made.run()
    assert kinds(steps)[0] == "Allocate"
    assert [(e.lb, e.port) for e in made.held()] == [("bm-arena-1", 30000 + n) for n in range(3)]
    assert made.shown().state == "Bound"


@pytest.mark.row("AL-12")
def test_a_run_that_was_never_published_and_lost_a_port_keeps_nothing() -> None:
    """Else two pods could each hold the half of what the other waits for."""
    made = world(RANGE, arena=PurePool(room=3))
    made.run(crash_after=4)
    assert {e.state for e in made.held()} == {EntryState.BOUND}
    lose(made, 30001)
    made.run()
    assert (made.shown().state, made.held()) == ("NoPortAvailable", [])
