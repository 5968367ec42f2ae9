"""What becomes of jobs whose runner or pod is lost, and of pods that are closed and opened again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest

from berthmaster.jobs.dispatch import Dispatcher
from berthmaster.jobs.job import Job, Placed
from berthmaster.jobs.runner_ledger import NotVerified
from tests.support.jobs.slot_world import SlotWorld

Lose = Callable[[SlotWorld], object]


@pytest.mark.row("SL-22", "SL-17", "SL-21")
@pytest.mark.parametrize("options", [{}, {"when_lost": "fail"}])
def test_the_jobs_of_a_lost_pod_wait_again_or_are_lost(world: SlotWorld, options: dict[str, str]) -> None:
    world.add("a")
    world.submit("j", **options)
    world.deliver_all()
    world.add("b")
    world.kill("a")
    assert world.record("j").outcome == ("lost" if options else "")
    assert world.record("j").uid == ("" if options else "b")


@pytest.mark.row("SL-22")
def test_an_apply_whose_pod_is_lost_is_not_run_again(world: SlotWorld) -> None:
    world.add("a")
    plan = world.planned("j")
    world.confirm("j", plan)
    world.deliver_all()
    world.add("b")
    world.kill("a")
    assert world.record("j").outcome == "lost"


@pytest.mark.row("SL-17")
def test_a_reserved_job_whose_pod_is_lost_is_planned_again(world: SlotWorld) -> None:
    world.add("a")
    world.planned("j")
    world.add("b")
    world.kill("a")
    assert (world.record("j").phase, world.record("j").uid) == ("plan", "b")


@pytest.mark.row("SL-22")
def test_a_process_that_its_runner_does_not_list_any_more_is_lost_once_a_newer_list_says_so(world: SlotWorld) -> None:
    """Rules list, newerreport."""
    runner = world.add("a")
    world.submit("j")
    stale = runner.report()
    world.deliver_all()
    first = world.only()
    world.ledger.report(stale)  # made before the start was granted
    assert world.state("j") == "running"
    runner.running.clear()
    world.beat("a")  # learns that a start was granted
    world.beat("a")
    assert (world.state("j"), world.record("j").attempt != first) == ("placed", True)


@pytest.mark.row("SL-22")
def test_an_outcome_is_repeated_until_it_is_known(world: SlotWorld) -> None:
    """Rule keep."""
    world.add("a")
    world.submit("j")
    world.deliver_all()
    attempt = world.only()
    world.end("a", attempt)
    assert world.beat("a").acknowledged == (attempt,)
    assert world.record("j").outcome == "succeeded"


@pytest.mark.row("SL-05", "SD-18")
def test_a_fenced_pod_gets_no_job_and_a_busy_one_is_not_fenced(world: SlotWorld) -> None:
    world.add("a")
    world.add("b")
    busy = world.submit("j").uid
    idle = "b" if busy == "a" else "a"
    assert world.ledger.fence(busy, "t1", 0) == "BUSY"
    assert world.ledger.fence(idle, "t1", 1) is None
    assert world.ledger.fence(idle, "t1", 1) is None
    assert world.ledger.fence(idle, "t2", 1) == "CLOSED"
    for n in range(5):
        world.submit(f"p{n}")
    assert {world.record(f"p{n}").uid for n in range(5)} == {busy, ""}


@pytest.mark.row("SD-02", "SD-09")
def test_a_fence_that_would_leave_too_few_is_refused(world: SlotWorld) -> None:
    """Rule floor."""
    world.add("a")
    world.add("b")
    assert world.ledger.fence("a", "t", 2) == "FLOOR"
    assert world.ledger.claim("b", "c") is None
    assert world.ledger.fence("a", "t", 1) is None


@pytest.mark.row("SD-18", "SL-05")
def test_a_closed_pod_opens_again_only_for_who_took_it_over(world: SlotWorld) -> None:
    """Rules bump, lift."""
    world.add("a")
    world.ledger.fence("a", "old", 0)
    world.beat("a")
    assert world.submit("j").state == "waiting"
    assert world.ledger.take_over("a", "old", "sweep")
    assert not world.ledger.take_over("a", "old", "other")
    assert world.ledger.open("a", "old") is None
    world.send(world.ledger.open("a", "sweep") or ())
    assert world.state("j") == "placed"


@pytest.mark.row("SL-09")
def test_what_a_pod_is_sent_it_can_start_at_once(world: SlotWorld) -> None:
    world.add("a")
    world.submit("j")
    assert world.deliver(world.wire[0])


def test_an_ended_job_is_forgotten_after_its_time(world: SlotWorld) -> None:
    world.submit("j")
    world.cancel("j")
    world.ledger.sweep(timedelta(hours=1))
    assert world.state("j") == "done"
    world.ledger.sweep(timedelta(0))
    assert world.ledger.record("j") is None


def test_a_job_may_be_given_a_time_before_which_it_is_not_placed(world: SlotWorld) -> None:
    world.add("a")
    _, placed = world.ledger.submit(Job("j", ("plan",)), timedelta(milliseconds=1))
    assert placed == ()
    while world.state("j") == "waiting":
        world.sweep()
    assert world.state("j") == "placed"


@pytest.mark.row("SL-11")
def test_the_message_of_an_older_attempt_starts_nothing(world: SlotWorld) -> None:
    """Rule attempt."""
    world.add("a")
    world.submit("j")
    (late,) = world.wire
    world.ledger.undo("j", late.attempt, timedelta(0))
    world.sweep()
    assert world.record("j").uid == late.uid
    assert not world.deliver(late)
    assert world.ledger.undo("j", late.attempt, timedelta(0)) == (-1, ())


@pytest.mark.row("SL-06")
def test_the_late_end_of_a_lost_attempt_does_not_end_the_one_that_runs(world: SlotWorld) -> None:
    """Rule attempt."""
    runner = world.add("a")
    world.submit("j")
    world.deliver_all()
    lost = world.only()
    runner.running.clear()
    world.beat("a")
    world.beat("a")
    world.deliver_all()
    assert not world.ledger.finish("j", "plan", lost, "failed").taken
    assert world.state("j") == "running"


def replaced(world: SlotWorld) -> None:
    """Another server has the keys as they were: what it was stamped with is not its own."""
    world.redis.hset(f"{world.ledger.prefix}meta", mapping={"inc": "other", "seen": "other"})
    world.begin()


@pytest.mark.row("SL-13")
@pytest.mark.parametrize("lose", [lambda world: world.redis.flushall(), replaced], ids=["flushed", "replaced"])
def test_what_runs_when_redis_is_lost_goes_on_and_is_placed_nowhere_else(world: SlotWorld, lose: Lose) -> None:
    """Rules fresh, held, outs."""
    world.add("a", layout=("*", "*", "*"))
    for job in ("runs", "held", "ended"):
        world.submit(job, "plan", "apply") if job == "held" else world.submit(job)
    world.deliver_all()
    attempts = {job: attempt for attempt, (job, _, _) in world.runners["a"].running.items()}
    world.end("a", attempts["held"])
    world.end("a", attempts["ended"])
    world.beat("a")
    lose(world)
    world.begin()
    with pytest.raises(NotVerified):
        world.ledger.finish("runs", "plan", attempts["runs"], "succeeded")
    for job in ("runs", "ended"):
        world.submit(job)
    assert not world.beat("a").accepted
    assert world.beat("a").stop == (attempts["ended"],)
    world.open("a")
    assert [world.state(job) for job in ("runs", "held", "ended")] == ["running", "reserved", "done"]
    assert {job: world.record(job).attempt for job in attempts} == attempts
    assert world.confirm("held", attempts["held"])


@pytest.mark.row("SL-13")
def test_a_job_that_nobody_tells_of_after_redis_was_replaced_is_placed_once_its_client_asks_again(
    world: SlotWorld,
) -> None:
    """Rules wish, resubmit."""
    world.submit("j")
    replaced(world)
    world.add("a")
    assert world.state("j") == "unknown"
    assert world.submit("j").state == "placed"


@pytest.mark.row("SL-13")
def test_nothing_is_placed_until_every_pod_has_reported_or_is_gone(world: SlotWorld) -> None:
    """Rule gate."""
    world.add("a")
    world.add("b")
    world.redis.flushall()
    world.begin()
    world.submit("j")
    world.beat("a")
    world.beat("a")
    world.open("a")
    assert world.state("j") == "waiting"
    world.kill("b")
    assert world.state("j") == "placed"


@pytest.mark.row("SL-26")
def test_an_attempt_starts_on_the_pod_that_it_was_placed_on_and_nowhere_else(world: SlotWorld) -> None:
    world.add("a")
    world.add("b")
    world.submit("j")
    (message,) = world.wire
    other = "b" if message.uid == "a" else "a"
    assert not world.ledger.start("j", "plan", message.attempt, other)
    assert world.deliver(message)


class Away:
    """A broker that takes nothing."""

    def send(self, placed: Iterable[Placed]) -> list[Placed]:
        return list(placed)


@pytest.mark.row("SL-10")
def test_a_job_that_cannot_be_sent_waits_longer_each_time(world: SlotWorld) -> None:
    world.add("a")
    world.submit("j")
    later, waits = f"{world.ledger.prefix}later", []
    for _ in range(6):
        (message,) = world.wire
        world.wire.clear()
        before = now_ms(world)
        Dispatcher(world.ledger, Away()).dispatch([message])
        due: Any = world.redis.zscore(later, "j")
        waits.append(round((due - before) / 1000))
        world.redis.zadd(later, {"j": 0})
        world.sweep()
    assert waits == [5, 10, 20, 40, 60, 60]


def now_ms(world: SlotWorld) -> int:
    seconds, micros = world.redis.time()
    return int(seconds) * 1000 + int(micros) // 1000
