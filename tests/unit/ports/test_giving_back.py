"""What a run gives back, in which order, and what it must never give back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.ports.endpoints import published_ids
from domain.ports.entry import EntryState
from domain.ports.pod import Outputs, PortsState
from domain.ports.steps import Clear, Release, Rollback
from tests.support.ports.pure_run import PurePool, PureWorld
from tests.unit.ports.worlds import ONE, TWO, VOICE, bound_world, entry, give, kinds, world

TYPO = "7777/UDP@arena,7778/TCP"


@pytest.mark.row("BD-13")
def test_a_live_pod_is_cleared_before_its_port_is_released() -> None:
    made = bound_world()
    made.pod(ports=None)
    assert kinds(made.run()) == ["Clear", "Release", "Show", "Stop"]
    assert (made.held(), made.shown()) == ([], Outputs())


@pytest.mark.row("BD-13")
def test_a_port_that_was_never_published_is_cleared_as_well() -> None:
    made = world()
    made.run(crash_after=2)
    made.pod(ports=None)
    assert kinds(made.run()) == ["Clear", "Release", "Show", "Stop"]


def test_one_write_clears_every_port_that_goes() -> None:
    made = bound_world(TWO)
    made.pod(ports=None)
    assert kinds(made.run()) == ["Clear", "Release", "Release", "Show", "Stop"]


@pytest.mark.row("BD-23")
def test_the_port_of_a_pod_that_is_gone_needs_no_clearing() -> None:
    made = bound_world(TWO)
    del made.pods["a"]
    assert kinds(made.run()) == ["Release", "Release", "Stop"]


@pytest.mark.row("BD-23", "AL-14")
def test_ports_of_the_pod_that_had_the_name_before_go_first() -> None:
    made = bound_world()
    del made.pods["a"]
    made.pod(uid="second")
    assert kinds(made.run()) == ["Release", "Allocate", "Provision", "Show", "Stop"]
    assert [e.uid for e in made.held()] == ["second"]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_finished_gives_its_ports_back(phase: str) -> None:
    made = bound_world()
    made.pod(phase=phase)
    assert kinds(made.run()) == ["Clear", "Release", "Show", "Stop"]
    assert made.shown() == Outputs()


@pytest.mark.row("AL-16")
def test_a_port_that_is_not_asked_for_any_more_is_released_and_the_others_stay() -> None:
    made = bound_world(TWO)
    made.pod(ports=ONE)
    assert kinds(made.run()) == ["Clear", "Release", "Confirm", "Show", "Stop"]
    assert [e.port for e in made.held()] == [30000]
    assert published_ids(made.shown().endpoints) == {("arena", "bm-arena-0", 30000)}


@pytest.mark.row("BD-03", "AL-14")
def test_a_mistake_in_the_annotation_costs_no_held_port() -> None:
    made = bound_world(TWO)
    before, held = made.shown(), made.held()
    made.pod(ports=TYPO)
    assert kinds(made.run()) == ["Show", "Stop"]
    assert (made.shown().state, made.shown().endpoints) == (PortsState.FAILED, before.endpoints)
    made.pod(ports=TWO)
    made.run()
    assert (made.shown(), made.held()) == (before, held)


def test_a_release_that_has_begun_goes_on_in_spite_of_a_mistake_in_the_annotation() -> None:
    made = bound_world(TWO)
    give(made, replace(made.held()[1], state=EntryState.RELEASING))
    made.pod(ports=TYPO)
    assert kinds(made.run()) == ["Clear", "Release", "Show", "Stop"]
    assert published_ids(made.shown().endpoints) == {("arena", "bm-arena-0", 30000)}


def test_a_surplus_port_is_released_and_the_published_one_kept() -> None:
    made = bound_world()
    give(made, entry(29999, state=EntryState.BOUND, listener="older"))
    assert kinds(made.run()) == ["Clear", "Release", "Confirm", "Show", "Stop"]
    assert [e.port for e in made.held()] == [30000]


def test_of_unpublished_ports_for_one_want_the_first_is_kept() -> None:
    made = world()
    give(made, entry(30001))
    give(made, entry(30000))
    made.run()
    assert [e.port for e in made.held()] == [30000]


@pytest.mark.row("AL-21")
def test_releasing_is_never_taken_back() -> None:
    made = bound_world()
    made.pod(ports=None)
    made.busy = True
    assert kinds(made.run()) == ["Clear", "Release"]
    made.pod(ports=ONE)
    assert kinds(made.run()) == ["Release"]
    made.busy = False
    assert kinds(made.run()) == ["Release", "Allocate", "Provision", "Show", "Stop"]


@pytest.mark.row("AL-21")
def test_what_is_releasing_goes_before_what_is_not() -> None:
    made = PureWorld()
    give(made, entry(30000))
    give(made, entry(30005, state=EntryState.RELEASING))
    step = made.run(crash_after=1)[0]
    assert isinstance(step, Release)
    assert step.entry.port == 30005


@pytest.mark.row("AL-12")
def test_a_pool_that_refuses_gives_back_what_the_run_took_elsewhere() -> None:
    made = world(VOICE, arena=PurePool(), lobby=PurePool(room=0))
    assert kinds(made.run()) == ["Allocate", "Allocate", "Rollback", "Show", "Stop"]
    assert (made.held(), made.waiting["a"]) == ([], {"lobby"})


@pytest.mark.row("AL-12")
def test_a_port_with_cloud_calls_behind_it_is_released_and_not_rolled_back() -> None:
    made = world(VOICE, arena=PurePool(), lobby=PurePool(room=0))
    held = give(made, entry())
    steps = made.run()
    assert kinds(steps) == ["Allocate", "Clear", "Release", "Show", "Stop"]
    assert isinstance(steps[1], Clear)
    assert steps[1].entry == held
    assert made.shown().state == PortsState.NO_PORT_AVAILABLE


@pytest.mark.row("AL-12")
def test_a_pod_without_address_holds_nothing_while_a_further_port_is_missing() -> None:
    made = world(arena=PurePool(room=1), pod={"ips": ()})
    made.run()
    made.pod(ports=TWO)
    assert kinds(made.run()) == ["Allocate", "Clear", "Release", "Show", "Stop"]
    assert (made.held(), made.shown().state) == ([], PortsState.NO_PORT_AVAILABLE)


@pytest.mark.row("AL-12", "PP-21")
def test_a_pool_that_goes_between_two_runs_gives_back_what_was_taken_elsewhere() -> None:
    made = world(VOICE)
    made.run(crash_after=1)
    del made.pools["lobby"]
    made.run()
    assert (made.held(), made.shown().state) == ([], PortsState.POOL_NOT_FOUND)


@pytest.mark.row("AL-12", "PP-21")
def test_what_a_run_took_is_rolled_back_when_the_next_pool_closes_under_it() -> None:
    made = world(VOICE)
    made.closing = {"lobby"}
    assert kinds(made.run()) == ["Allocate", "Allocate", "Rollback", "Show", "Stop"]
    assert (made.held(), made.shown().state) == ([], PortsState.POOL_NOT_ALLOCATABLE)


@pytest.mark.row("AL-14")
def test_a_bound_port_is_kept_while_a_further_one_waits() -> None:
    made = bound_world(arena=PurePool(room=1))
    made.pod(ports=TWO)
    assert kinds(made.run()) == ["Allocate", "Show", "Stop"]
    assert made.shown().state == PortsState.NO_PORT_AVAILABLE
    assert published_ids(made.shown().endpoints) == {("arena", "bm-arena-0", 30000)}


@pytest.mark.row("AL-14", "AL-15")
def test_a_further_entry_moves_no_port() -> None:
    made = bound_world()
    made.pod(ports=VOICE)
    assert kinds(made.run()) == ["Allocate", "Provision", "Confirm", "Show", "Stop"]
    assert [(e.pool, e.port) for e in made.held()] == [("arena", 30000), ("lobby", 30000)]


@pytest.mark.parametrize("ports", [None, TYPO, "7777/UDP@lobby"])
def test_a_pod_that_waits_for_nothing_more_leaves_the_list(ports: str | None) -> None:
    made = world(arena=PurePool(room=0), lobby=PurePool())
    made.run()
    made.pod(ports=ports)
    assert kinds(made.run())[0] == "LeaveWaitingList"
    assert made.waiting["a"] == set()


def test_a_pod_that_is_gone_leaves_the_list() -> None:
    made = world(arena=PurePool(room=0))
    made.run()
    del made.pods["a"]
    assert kinds(made.run()) == ["LeaveWaitingList", "Stop"]


@pytest.mark.row("AL-17", "AL-18")
def test_only_entries_of_the_own_name_are_ever_released() -> None:
    made = bound_world()
    made.pod("b", ONE)
    made.run("b")
    del made.pods["a"]
    released = [step for step in made.run() if isinstance(step, Release | Rollback)]
    assert [step.entry.port for step in released] == [30000]
    assert [e.port for e in made.held("b")] == [30001]
