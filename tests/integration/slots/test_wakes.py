"""Rule wakes: whatever frees a slot or a key places the next job in the same step, without a sweep."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.support.jobs.slot_recount import keys_of_running
from tests.support.jobs.slot_world import SlotWorld

Frees = Callable[[SlotWorld], object]


def lose_pod(world: SlotWorld) -> None:
    world.add("b", layout=("*",))
    world.kill("a")


def lose_process(world: SlotWorld) -> None:
    world.runners["a"].running.clear()
    world.beat("a")
    world.beat("a")


def stop(world: SlotWorld) -> None:
    attempt = world.record("one").attempt
    world.cancel("one")
    world.runners["a"].running.clear()
    world.runners["a"].ended[attempt] = ("one", "apply", "cancelled")
    world.beat("a")


def report_end(world: SlotWorld) -> None:
    world.end("a", world.only())
    world.beat("a")


FREES: dict[str, Frees] = {
    "it succeeds": lambda world: world.ended("a", world.only()),
    "it fails": lambda world: world.ended("a", world.only(), "failed"),
    "it is cancelled and stops": stop,
    "its end is only reported": report_end,
    "its process is lost": lose_process,
    "its pod is lost": lose_pod,
}


@pytest.mark.row("SL-07", "SL-18")
@pytest.mark.parametrize("how", FREES)
def test_whatever_frees_a_running_slot_and_key_places_the_next_in_the_same_step(world: SlotWorld, how: str) -> None:
    """Rule wakes: no sweep runs here. The job itself is not run again, so that it is not the next."""
    world.add("a", layout=("*",))
    world.submit("one", "apply", serial_key="w", when_lost="fail")
    world.submit("two", "apply", serial_key="w")
    world.deliver_all()
    FREES[how](world)
    assert world.state("two") == "placed"


@pytest.mark.row("SL-07", "SL-08", "SL-18")
@pytest.mark.parametrize("how", ["cancelled", "unsent", "expired", "cancelled while reserved"])
def test_whatever_frees_a_slot_that_nothing_runs_in_places_the_next_in_the_same_step(
    world: SlotWorld, how: str
) -> None:
    """Rule wakes: a rolled-back dispatch, a cancel, a deadline."""
    world.add("a", layout=("*",))
    if how in ("expired", "cancelled while reserved"):
        world.planned("one", hold_ms=0)
    else:
        world.submit("one", "apply")
    world.submit("two", "apply")
    assert world.state("two") == "waiting"
    if how == "unsent":
        world.ledger.undo("one", world.record("one").attempt, timedelta(minutes=1))
    elif how == "expired":
        world.sweep()
    else:
        world.cancel("one")
    assert world.state("two") == "placed"


@pytest.mark.row("SL-24", "SL-18")
def test_the_key_of_a_cancelled_apply_goes_to_the_confirmed_one_that_waits_for_it(world: SlotWorld) -> None:
    """Rule wakes: the confirmed job has its slot already, and only the key wakes it."""
    runner = world.add("a", layout=("*", "*", ",plan,"))
    for job in ("one", "two"):
        world.submit(job, "plan", "apply", serial_key="w")
    world.deliver_all()
    for plan in list(runner.running):
        world.ended("a", plan)
        world.confirm(runner.held[plan][0], plan)
    states = {job: world.state(job) for job in ("one", "two")}
    assert sorted(states.values()) == ["confirmed", "placed"]
    (has_key,) = (job for job, state in states.items() if state == "placed")
    world.cancel(has_key)
    world.deliver_all()
    assert sorted(world.state(job) for job in states) == ["done", "running"]
    assert keys_of_running(world) == {"w": 1}


@pytest.mark.row("SD-18", "SL-18")
@pytest.mark.parametrize("closed", ["fenced", "claimed"])
def test_a_pod_that_opens_again_is_given_what_waits_in_the_same_step(world: SlotWorld, closed: str) -> None:
    """Rules wakes, lift: also of a claim that gave up."""
    world.add("a", layout=("*",))
    shut = world.ledger.fence("a", "t", 0) if closed == "fenced" else world.ledger.claim("a", "t")
    assert shut is None
    world.submit("j")
    assert world.ledger.take_over("a", "t", "sweep")
    assert world.ledger.open("a", "t") is None
    assert [placed.id for placed in world.ledger.open("a", "sweep") or ()] == ["j"]


@pytest.mark.row("SL-24", "SL-18")
@pytest.mark.parametrize("how", ["cancelled", "unsent"])
def test_a_job_that_leaves_the_line_of_its_key_does_not_keep_those_behind_it(world: SlotWorld, how: str) -> None:
    """Rule wakes: the key was free, and the first in line waited for a slot only."""
    world.add("a", layout=("*",))
    for job in ("one", "two", "three"):
        world.submit(job, "apply", serial_key="w")
    world.deliver_all()
    world.ledger.quarantine("a")
    world.ended("a", world.record("one").attempt)
    if how == "cancelled":
        world.cancel("two")
        world.add("b", layout=("*",))
    else:
        world.add("b", layout=("*",))
        world.ledger.undo("two", world.record("two").attempt, timedelta(minutes=1))
    assert world.record("three").uid == "b"
