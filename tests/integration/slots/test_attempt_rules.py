"""The rules of attempts: the shortest history that breaks each, forced on the real scripts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from berthmaster.jobs.job import Job
from tests.support.jobs.slot_world import DAY, SlotWorld

Frees = Callable[[SlotWorld], object]


@pytest.mark.row("SL-06", "SL-11", "SL-22")
def test_an_attempt_that_is_over_takes_nothing_from_the_next_of_its_job(world: SlotWorld) -> None:
    """Rule attempt: its message and its end come again while the job has another attempt in the same slot."""
    runner = world.add("a", layout=("*",))
    world.submit("j")
    (first,) = world.wire
    world.deliver_all()
    runner.running.clear()  # the process is killed
    world.beat("a")
    world.beat("a")
    (second,) = world.wire
    assert (second.uid, second.attempt == first.attempt) == ("a", False)
    assert not world.deliver(first)
    assert not world.ledger.finish("j", "plan", first.attempt, "succeeded").taken
    assert world.ledger.undo("j", first.attempt, timedelta(0)) == (-1, ())
    world.deliver_all()
    world.beat("a")
    world.beat("a")
    assert (world.state("j"), world.record("j").attempt) == ("running", second.attempt)


@pytest.mark.row("SL-06", "SL-15")
def test_the_end_of_a_plan_told_again_does_not_end_the_apply_that_runs(world: SlotWorld) -> None:
    """Rule attempt: both are of one job and in one slot."""
    world.add("a", layout=("*",))
    plan = world.planned("j")
    world.confirm("j", plan)
    world.deliver_all()
    world.tell("a", plan)
    assert not world.ledger.finish("j", "apply", plan, "succeeded").taken
    assert not world.ledger.finish("j", "plan", world.only(), "succeeded").taken
    assert (world.state("j"), world.count("used")) == ("running", 1)


@pytest.mark.row("SL-19")
def test_a_reservation_is_over_only_when_the_script_itself_finds_it_so(world: SlotWorld) -> None:
    """Rule attempt: the deadline that a scan saw may be that of an attempt before."""
    world.add("a", layout=("*",))
    world.planned("j", hold_ms=0)
    world.add("b", layout=("*",))
    world.kill("a")
    world.deliver_all()
    assert world.ledger.sweep(DAY).expired == ()
    world.ended("b", world.only("b"))
    assert world.ledger.sweep(DAY).expired == ("j",)


@pytest.mark.row("SL-19")
def test_a_reservation_is_not_over_before_its_time(world: SlotWorld) -> None:
    """Rule attempt: nor is one that began anew, by the deadline of the one before."""
    world.add("a", layout=("*",))
    world.planned("j", hold_ms=60_000)
    assert world.ledger.sweep(DAY).expired == ()
    due: Any = world.redis.zscore(f"{world.ledger.prefix}due", "j")
    seconds, _ = world.redis.time()
    assert 58 <= due / 1000 - int(seconds) <= 61
    assert world.state("j") == "reserved"


@pytest.mark.row("SL-11")
def test_what_a_broker_or_a_client_says_again_after_the_end_runs_nothing(world: SlotWorld) -> None:
    """Rule retain: the record of the end is still there when the submit and the message come a second time."""
    world.add("a", layout=("*",))
    world.submit("j")
    (message,) = world.wire
    world.deliver_all()
    world.ended("a", world.only())
    world.ledger.sweep(timedelta(minutes=1))
    assert world.submit("j").outcome == "succeeded"
    assert not world.deliver(message)
    assert (world.wire, world.effects["j plan"]) == ([], 1)


@pytest.mark.row("SL-23", "SL-24")
@pytest.mark.parametrize("stopped", [True, False], ids=["it stops", "its pod goes"])
def test_a_cancelled_apply_keeps_slot_and_key_until_it_has_stopped(world: SlotWorld, stopped: bool) -> None:
    """Rule hold: its process lives until then, and nobody else may run beside it."""
    world.add("a", layout=("*",))
    world.submit("one", "apply", serial_key="w")
    world.deliver_all()
    world.add("b", layout=("*",))
    world.submit("two", "apply", serial_key="w")
    assert world.cancel("one") == "cancelling"
    world.sweep()
    world.beat("a")
    world.deliver_all()
    assert (world.state("two"), world.count("used")) == ("waiting", 1)
    if stopped:
        world.runners["a"].ended[world.record("one").attempt] = ("one", "apply", "failed")
        world.beat("a")
    else:
        world.kill("a")
    assert (world.record("one").outcome, world.state("two")) == ("cancelled", "placed")


@pytest.mark.row("SL-23")
def test_a_message_that_comes_after_the_cancel_starts_nothing(world: SlotWorld) -> None:
    """Rule hold: what had not started is over at once, and its slot is another's."""
    world.add("a", layout=("*",))
    world.submit("one")
    world.cancel("one")
    world.submit("two")
    world.deliver_all()
    assert [world.state(job) for job in ("one", "two")] == ["done", "running"]


@pytest.mark.row("SL-05", "SD-18")
def test_a_claim_takes_only_an_idle_pod_and_a_taken_one_gets_no_job(world: SlotWorld) -> None:
    """Rule take: it asks the slot ledger before it writes the pod."""
    world.add("a", layout=("*",))
    world.submit("one")
    assert world.ledger.claim("a", "claim") == "BUSY"
    world.deliver_all()
    world.ended("a", world.only())
    assert world.ledger.claim("a", "claim") is None
    assert world.ledger.claim("a", "claim") is None
    assert world.ledger.claim("a", "other") == "CLOSED"
    assert world.ledger.fence("a", "other", 0) == "CLOSED"
    assert world.submit("two").state == "waiting"


@pytest.mark.row("SL-22", "SL-13")
def test_a_start_whose_answer_is_lost_is_found_by_its_absence(world: SlotWorld) -> None:
    """Rule list: nobody runs it, and nobody else could say so."""
    world.add("a")
    world.submit("j")
    (message,) = world.wire
    world.wire.clear()
    assert world.ledger.start("j", "plan", message.attempt, "a")  # and the runner hears nothing of it
    assert world.ledger.start("j", "plan", message.attempt, "a") is None
    world.beat("a")
    world.beat("a")
    assert (world.state("j"), world.record("j").attempt == message.attempt) == ("placed", False)


@pytest.mark.row("SL-12", "SL-22")
def test_a_report_says_nothing_of_what_was_placed_and_not_started(world: SlotWorld) -> None:
    """Rule newerreport: the message is still on its way, and the runner cannot know of it."""
    world.add("a")
    world.submit("j")
    for _ in range(3):
        world.beat("a")
    assert world.deliver(world.wire[0])
    assert world.state("j") == "running"


@pytest.mark.row("SL-17", "SL-22")
def test_a_reservation_that_a_report_leaves_out_is_planned_again(world: SlotWorld) -> None:
    """Rule list: its runner has forgotten it, so that nobody could apply it."""
    world.add("a")
    world.planned("j")
    world.runners["a"].held.clear()
    world.runners["a"].ended.clear()
    world.beat("a")
    world.beat("a")
    assert (world.state("j"), world.record("j").phase) == ("placed", "plan")


@pytest.mark.row("SL-27")
def test_each_operation_said_twice_is_said_once(world: SlotWorld) -> None:
    """The reply of each is lost, and it is asked again."""
    world.add("a", layout=("*",))
    job = Job("j", ("plan", "apply"), serial_key="w")
    for _ in range(2):
        world.send(world.ledger.submit(job)[1])
    (message,) = world.wire
    world.deliver_all()
    plan = world.only()
    world.end("a", plan)
    for _ in range(2):
        world.tell("a", plan)
    assert (world.state("j"), world.count("reserved")) == ("reserved", 1)
    for _ in range(2):
        assert world.confirm("j", plan)
    assert len(world.wire) == 1
    for _ in range(2):
        world.ledger.undo("j", world.wire[0].attempt, timedelta(0))
    world.deliver_all()
    assert world.record("j").attempt != message.attempt
    for _ in range(2):
        assert world.cancel("j") == "cancelling"
    apply = world.only()
    world.end("a", apply, "cancelled")
    for _ in range(2):
        world.tell("a", apply)
        world.ledger.remove_pod("no such pod")
        world.sweep()
    assert (world.record("j").outcome, world.count("used"), world.count("reserved")) == ("cancelled", 0, 0)


@pytest.mark.row("SD-06", "SD-28", "SL-27")
def test_a_size_said_twice_is_one_step(world: SlotWorld) -> None:
    """The answer of the first is lost."""
    sizes = [world.ledger.resize("7-run", 3, 1, 9, 2).pods for _ in range(2)]
    assert (sizes, world.ledger.resize("7-run", None, 1, 9, 2).pods) == ([3, 3], 3)
