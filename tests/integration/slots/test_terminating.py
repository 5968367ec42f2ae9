"""What becomes of jobs whose pod terminates, perhaps for ever, and of pods that are ready no more."""

from __future__ import annotations

import pytest

from tests.support.jobs.slot_world import SlotWorld


def terminates(world: SlotWorld, uid: str) -> None:
    closed = world.ledger.quarantine(uid, for_good=True)
    assert closed
    world.send(closed.placed)


@pytest.mark.row("KU-12")
def test_what_was_placed_on_a_pod_that_terminates_and_has_not_started_moves(world: SlotWorld) -> None:
    """Rule moves. Field bug KU-12: on a node that is gone it stayed there for ever."""
    world.add("a")
    world.submit("runs")
    world.deliver_all()
    world.submit("placed", "plan", when_lost="fail")
    world.add("b")
    terminates(world, "a")
    assert (world.record("placed").uid, world.record("runs").uid) == ("b", "a")
    world.deliver_all()  # both messages: the first start is refused
    assert [len(world.runners[uid].running) for uid in "ab"] == [1, 1]
    assert (world.state("placed"), world.state("runs")) == ("running", "running")


@pytest.mark.row("KU-12")
def test_what_has_no_other_pod_waits_and_is_placed_on_the_next(world: SlotWorld) -> None:
    world.add("a")
    world.submit("j")
    terminates(world, "a")
    assert world.state("j") == "waiting"
    world.add("b")
    world.deliver_all()
    assert (world.state("j"), world.record("j").uid) == ("running", "b")


@pytest.mark.row("KU-12")
def test_a_plan_that_is_confirmed_on_a_pod_that_terminates_is_made_again(world: SlotWorld) -> None:
    """Rule moves. Nothing starts on that pod any more."""
    world.add("a")
    plan = world.planned("j")
    terminates(world, "a")
    assert world.state("j") == "reserved", "its plan is there as long as its pod"
    world.add("b")
    assert world.confirm("j", plan)
    assert (world.state("j"), world.record("j").phase, world.record("j").uid) == ("placed", "plan", "b")
    assert not world.confirm("j", plan)


@pytest.mark.row("KU-12")
def test_a_confirmed_plan_that_gets_its_key_on_a_pod_that_terminates_is_made_again(world: SlotWorld) -> None:
    """Rule moves."""
    world.add("a")
    world.add("b")
    world.submit("other", "apply", serial_key="w")
    world.deliver_all()
    first = world.record("other").uid
    (second,) = {"a", "b"} - {first}
    plan = world.planned("j", second, serial_key="w")
    assert world.confirm("j", plan)
    terminates(world, second)
    assert (world.state("j"), world.record("j").uid) == ("confirmed", second), "it waits for its key"
    world.ended(first, world.only(first))
    assert (world.state("j"), world.record("j").phase, world.record("j").uid) == ("placed", "plan", first)


@pytest.mark.row("SD-33", "SD-01")
def test_a_pod_is_retired_only_while_it_is_not_open_and_has_nothing(world: SlotWorld) -> None:
    """Rule retire."""
    world.add("a")
    assert not world.ledger.retire("a"), "it is open"
    world.submit("j")
    world.deliver_all()
    world.ledger.quarantine("a")
    assert not world.ledger.retire("a"), "it has a job"
    world.ended("a", world.only())
    assert world.ledger.retire("a")
    assert world.ledger.retire("a"), "said again"
    assert world.ledger.open("a") is None, "it never opens again"
    assert not world.ledger.retire("b"), "there is none"
