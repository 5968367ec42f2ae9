"""Jobs get slots, keep them, and give them back: on real scripts and a real Redis."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.support.jobs.slot_recount import keys_of_running
from tests.support.jobs.slot_world import SlotWorld


@pytest.mark.row("SL-18", "SL-03")
def test_a_job_waits_until_a_pod_opens_and_is_placed_at_once(world: SlotWorld) -> None:
    assert world.submit("j").state == "waiting"
    world.add("a")
    assert world.state("j") == "placed"
    world.deliver_all()
    assert world.state("j") == "running"


@pytest.mark.row("SL-02")
def test_a_plan_keeps_the_slot_for_any_job_free(world: SlotWorld) -> None:
    world.add("a")
    world.submit("p1")
    world.submit("p2")
    assert {world.record("p1").slot, world.record("p2").slot} == {2, 3}
    assert world.submit("x", "apply").slot == 1
    assert world.submit("p3").state == "waiting"


@pytest.mark.row("SL-02", "SL-15")
def test_a_job_whose_later_phase_only_slot_0_takes_is_there_from_its_first_phase(world: SlotWorld) -> None:
    world.add("a")
    assert world.submit("j", "plan", "apply").slot == 1


@pytest.mark.row("SL-02")
def test_the_fullest_pod_is_filled_first_so_that_others_empty(world: SlotWorld) -> None:
    world.add("a")
    world.add("b")
    first = world.submit("p1").uid
    assert world.submit("p2").uid == first
    assert world.submit("p3").uid != first  # a plan slot elsewhere is pickier than slot 0 here


@pytest.mark.row("SL-04", "SL-11")
def test_of_many_that_come_at_once_one_gets_the_last_slot(world: SlotWorld) -> None:
    world.add("a", layout=("*",))
    with ThreadPoolExecutor(20) as threads:
        list(threads.map(lambda n: world.submit(f"j{n}", "apply"), range(100)))
    states = [world.state(f"j{n}") for n in range(100)]
    assert (states.count("placed"), states.count("waiting")) == (1, 99)


@pytest.mark.row("SL-27")
def test_a_job_said_again_is_the_same_job(world: SlotWorld) -> None:
    """Field bug agones#607: the reply was lost, the retry gets the same slot."""
    world.add("a")
    first = world.submit("j")
    assert world.submit("j") == first
    assert len(world.wire) == 1


@pytest.mark.row("SL-11", "SL-27")
def test_a_message_delivered_twice_starts_once(world: SlotWorld) -> None:
    world.add("a")
    world.submit("j")
    (message,) = world.wire
    assert world.deliver(message)
    assert not world.deliver(message)


@pytest.mark.row("SL-14", "SL-15", "SL-16")
def test_a_plan_keeps_its_slot_until_a_person_confirms(world: SlotWorld) -> None:
    world.add("a")
    plan = world.planned("j")
    assert (world.state("j"), world.count("reserved"), world.wire) == ("reserved", 1, [])
    before = world.record("j")
    assert world.confirm("j", plan)
    world.deliver_all()
    after = world.record("j")
    assert (after.state, after.phase, after.uid, after.slot) == ("running", "apply", before.uid, before.slot)


@pytest.mark.row("SL-16")
def test_the_plan_of_another_attempt_confirms_nothing(world: SlotWorld) -> None:
    """Rule plan."""
    world.add("a")
    world.submit("j", "plan", "apply")
    world.deliver_all()
    old = world.only()
    world.add("b")
    world.kill("a")
    world.deliver_all()
    new = world.ended("b", world.only("b"))
    assert not world.confirm("j", old)
    assert world.confirm("j", new)


@pytest.mark.row("SL-07", "SL-06")
@pytest.mark.parametrize("outcome", ["succeeded", "failed"])
def test_an_end_frees_the_slot_for_the_next_and_said_again_changes_nothing(world: SlotWorld, outcome: str) -> None:
    world.add("a", layout=("*",))
    world.submit("one")
    world.submit("two")
    world.deliver_all()
    attempt = world.only()
    world.end("a", attempt, outcome)
    world.tell("a", attempt)
    assert (world.record("one").outcome, world.state("two")) == (outcome, "placed")
    world.deliver_all()
    world.tell("a", attempt)
    assert world.state("two") == "running"


@pytest.mark.row("SL-07", "SL-23")
@pytest.mark.parametrize("started", [False, True])
def test_a_cancelled_job_keeps_its_slot_while_its_process_lives(world: SlotWorld, started: bool) -> None:
    """Rule hold."""
    world.add("a", layout=("*",))
    world.submit("one")
    world.submit("two")
    if started:
        world.deliver_all()
    assert world.cancel("one") == ("cancelling" if started else "done")
    assert world.state("two") == ("waiting" if started else "placed")
    if started:
        attempt = world.only()
        assert attempt in world.beat("a").stop
        world.runners["a"].ended[attempt] = ("one", "plan", "cancelled")
        world.tell("a", attempt)
    assert (world.record("one").outcome, world.state("two")) == ("cancelled", "placed")


@pytest.mark.row("SL-19")
def test_a_reservation_ends_once_its_time_is_over_and_a_confirmed_one_never(world: SlotWorld) -> None:
    """Rule clear. Field bug agones#2209: given back exactly once."""
    world.add("a", layout=("*", "*", ",plan,"))
    for job in ("one", "two"):
        world.submit(job, "plan", "apply", hold_ms=0, serial_key="w")
    world.deliver_all()
    for attempt in list(world.runners["a"].running):
        world.ended("a", attempt)
    world.confirm("one", world.record("one").plan)
    assert world.ledger.sweep(timedelta(days=1)).expired == ("two",)
    assert world.ledger.sweep(timedelta(days=1)).expired == ()
    assert (world.record("two").outcome, world.record("one").outcome) == ("expired", "")


@pytest.mark.row("SL-24")
def test_of_one_serial_key_plans_run_together_and_applies_one_after_the_other(world: SlotWorld) -> None:
    world.add("a", layout=("*", "*", ",plan,"))
    for job in ("one", "two"):
        world.submit(job, "plan", "apply", serial_key="workspace")
    world.deliver_all()
    plans = list(world.runners["a"].running)
    assert len(plans) == 2
    for attempt in plans:
        world.ended("a", attempt)
        world.confirm(world.runners["a"].held[attempt][0], attempt)
    world.deliver_all()
    assert sorted(world.state(job) for job in ("one", "two")) == ["confirmed", "running"]
    attempt = world.ended("a", world.only())
    world.deliver_all()
    assert keys_of_running(world)["workspace"] == 1
    assert sorted(world.state(job) for job in ("one", "two")) == ["done", "running"]


@pytest.mark.row("SL-24")
def test_a_locked_workspace_does_not_hold_up_another(world: SlotWorld) -> None:
    world.add("a", layout=("*", "*"))
    world.submit("one", "apply", serial_key="w")
    world.submit("two", "apply", serial_key="w")
    world.submit("three", "apply", serial_key="v")
    assert [world.state(job) for job in ("one", "two", "three")] == ["placed", "waiting", "placed"]


@pytest.mark.row("SL-25")
def test_the_more_urgent_goes_first_and_of_equals_who_came_first(world: SlotWorld) -> None:
    for job, priority in (("late", 5), ("background", 9), ("urgent", 1), ("later", 5)):
        world.submit(job, "apply", priority=priority)
    world.add("a", layout=("*",))
    done = []
    for _ in range(4):
        world.deliver_all()
        attempt = world.only()
        done.append(world.runners["a"].running[attempt][0])
        world.ended("a", attempt)
    assert done == ["urgent", "late", "later", "background"]


@pytest.mark.row("SL-25")
def test_the_more_urgent_goes_first_whatever_its_kind(world: SlotWorld) -> None:
    world.submit("plan", "plan", priority=5)
    world.submit("apply", "apply", priority=1)
    world.submit("build", "build", priority=3)
    world.add("a", layout=("*",))
    assert [world.state(job) for job in ("plan", "apply", "build")] == ["waiting", "placed", "waiting"]


@pytest.mark.row("SL-19", "SL-24")
def test_a_confirmed_job_that_waits_for_its_serial_key_does_not_expire(world: SlotWorld) -> None:
    """Rule clear."""
    world.add("a", layout=("*", "*", ",plan,"))
    for job in ("one", "two"):
        world.submit(job, "plan", "apply", hold_ms=0, serial_key="w")
    world.deliver_all()
    for attempt in list(world.runners["a"].running):
        world.ended("a", attempt)
        world.confirm(world.runners["a"].held[attempt][0], attempt)
    assert world.ledger.sweep(timedelta(days=1)).expired == ()
    assert sorted(world.state(job) for job in ("one", "two")) == ["confirmed", "placed"]


@pytest.mark.row("SL-10")
def test_what_could_not_be_sent_waits_and_frees_its_slot(world: SlotWorld) -> None:
    world.add("a", layout=("*",))
    world.submit("one")
    world.submit("two")
    (message,) = world.wire
    tries, placed = world.ledger.undo("one", message.attempt, timedelta(0))
    assert (tries, [p.id for p in placed], world.state("one")) == (1, ["two"], "waiting")
    assert world.ledger.undo("one", message.attempt, timedelta(0)) == (-1, ())


@pytest.mark.row("SL-08")
def test_an_apply_that_could_not_be_sent_keeps_its_slot_and_is_sent_again(world: SlotWorld) -> None:
    world.add("a", layout=("*",))
    plan = world.planned("one")
    world.confirm("one", plan)
    (message,) = world.wire
    world.wire.clear()
    world.ledger.undo("one", message.attempt, timedelta(0))
    world.sweep()
    assert world.wire == [replace(message, tries=1)]
    assert world.record("one").slot == 1
