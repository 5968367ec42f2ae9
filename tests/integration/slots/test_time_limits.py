"""Time limits of jobs: the shortest history that breaks each rule, forced on the real scripts."""

from __future__ import annotations

from datetime import timedelta

import pytest

from berthmaster.jobs.job import JobRecord, Limit
from berthmaster.jobs.runner_ledger import NotVerified
from tests.support.jobs.slot_world import DAY, SlotWorld

pytestmark = pytest.mark.row("SD-34")
HOUR_MS = 3_600_000


def end(record: JobRecord) -> tuple[str, str, Limit | None]:
    return record.state.value, record.outcome, record.limit


# ---- until the first start


def test_a_job_that_nothing_takes_in_its_time_ends(world: SlotWorld) -> None:
    world.submit("late", queue_ms=0)
    world.submit("patient", queue_ms=HOUR_MS)
    assert world.over_time() == {"late": Limit.QUEUE}
    assert (end(world.record("late")), world.state("patient")) == (("done", "timed_out", Limit.QUEUE), "waiting")
    world.add("a", ("*", "*"))
    assert [message.id for message in world.wire] == ["patient"]


def test_a_job_that_was_placed_and_has_not_started_in_its_time_gives_its_slot_to_the_next(world: SlotWorld) -> None:
    world.add("a", ("*",))
    world.submit("j", "apply", queue_ms=0, serial_key="w")
    world.submit("next", "apply", serial_key="w")
    (message,) = world.wire
    assert world.over_time() == {"j": Limit.QUEUE}
    assert (end(world.record("j")), world.state("next")) == (("done", "timed_out", Limit.QUEUE), "placed")
    assert not world.deliver(message)


def test_a_job_whose_message_could_not_be_sent_still_waits_for_its_first_start(world: SlotWorld) -> None:
    world.add("a", ("*",))
    world.submit("j", queue_ms=HOUR_MS)
    (message,) = world.wire
    left = world.deadlines()["j"]
    world.ledger.undo("j", message.attempt, timedelta(hours=2))
    assert world.state("j") == "waiting"
    assert world.deadlines()["j"] <= left


def test_a_job_that_has_started_in_time_does_not_end_while_it_waits_to_run_again(world: SlotWorld) -> None:
    """Rule queuelimit: its pod is gone, and it is placed a second time."""
    world.add("a", ("*",))
    world.submit("j", queue_ms=0)
    world.deliver_all()
    assert world.over_time() == {}
    world.kill("a")
    assert world.over_time() == {}
    assert world.state("j") == "waiting"
    world.add("b", ("*",))
    assert (world.over_time(), world.state("j")) == ({}, "placed")


def test_what_waits_for_a_person_or_for_its_key_again_is_ended_by_no_other_limit(world: SlotWorld) -> None:
    world.add("a", ("*", "*"))
    plan = world.planned("j", queue_ms=0, serial_key="w")
    world.submit("other", "apply", serial_key="w")
    assert (world.over_time(), world.state("j")) == ({}, "reserved")
    world.confirm("j", plan)
    assert (world.over_time(), world.state("j")) == ({}, "confirmed")
    world.cancel("other")
    assert (world.over_time(), world.state("j")) == ({}, "placed")


# ---- of an attempt


@pytest.mark.row("SL-23")
@pytest.mark.parametrize("stopped", [True, False], ids=["it stops", "its pod goes"])
def test_an_attempt_over_its_time_keeps_slot_and_key_until_it_has_stopped(world: SlotWorld, stopped: bool) -> None:
    """Rule runlimit: its process lives until then, and nobody else may run beside it."""
    runner = world.add("a", ("*",))
    world.submit("one", "apply", serial_key="w", run_ms=0)
    world.submit("two", "apply", serial_key="w")
    world.deliver_all()
    attempt = world.only()
    assert world.over_time() == {"one": Limit.RUN}
    assert end(world.record("one")) == ("cancelling", "", Limit.RUN)
    assert (world.over_time(), world.state("two"), world.count("used")) == ({}, "waiting", 1)
    if stopped:
        assert world.ledger.report(runner.report()).stop == (attempt,)
        world.ended("a", attempt, "cancelled")
    else:
        world.add("b", ("*",))
        world.kill("a")
    assert (end(world.record("one")), world.state("two")) == (("done", "timed_out", Limit.RUN), "placed")


def test_an_attempt_that_ends_before_the_sweep_has_its_own_outcome(world: SlotWorld) -> None:
    world.add("a", ("*",))
    world.submit("j", run_ms=0)
    world.deliver_all()
    world.ended("a", world.only())
    assert (world.over_time(), end(world.record("j"))) == ({}, ("done", "succeeded", None))


def test_an_attempt_over_its_time_that_succeeds_all_the_same_has_timed_out(world: SlotWorld) -> None:
    """As a job that is cancelled while it ends: what has asked to stop it is not taken back."""
    world.add("a", ("*",))
    world.submit("j", "plan", "apply", run_ms=0)
    world.deliver_all()
    assert world.over_time() == {"j": Limit.RUN}
    world.ended("a", world.only())
    assert (end(world.record("j")), world.count("used")) == (("done", "timed_out", Limit.RUN), 0)


def test_the_time_of_an_attempt_is_not_that_of_the_next(world: SlotWorld) -> None:
    """Rule ownlimit: the deadline that a sweep could have seen was that of an attempt that is gone."""
    world.add("a", ("*",))
    world.submit("j", run_ms=HOUR_MS, queue_ms=HOUR_MS)
    world.deliver_all()
    world.redis.zadd(f"{world.ledger.prefix}limits", {"j": 1})
    world.add("b", ("*",))
    world.kill("a")
    assert (world.over_time(), world.state("j")) == ({}, "placed")
    world.deliver_all()
    assert (world.over_time(), world.state("j")) == ({}, "running")
    assert world.deadlines()["j"] > HOUR_MS / 2


def test_each_phase_has_the_time_of_an_attempt(world: SlotWorld) -> None:
    world.add("a", ("*",))
    plan = world.planned("j", run_ms=0, hold_ms=HOUR_MS)
    assert world.deadlines()["j"] > HOUR_MS / 2  # of the reservation
    world.confirm("j", plan)
    world.deliver_all()
    assert world.over_time() == {"j": Limit.RUN}
    world.ended("a", world.only(), "cancelled")
    assert end(world.record("j")) == ("done", "timed_out", Limit.RUN)


@pytest.mark.parametrize("first", ["limit", "person"])
def test_what_has_asked_first_to_stop_a_job_is_the_reason_of_its_end(world: SlotWorld, first: str) -> None:
    """Rule firstreason: the other one comes while its process still runs."""
    world.add("a", ("*",))
    world.submit("j", run_ms=0)
    world.deliver_all()
    if first == "limit":
        assert world.over_time() == {"j": Limit.RUN}
        assert world.cancel("j") == "cancelling"
    else:
        assert world.cancel("j") == "cancelling"
        assert world.over_time() == {}
    world.ended("a", world.only(), "cancelled")
    assert end(world.record("j")) == (
        ("done", "timed_out", Limit.RUN) if first == "limit" else ("done", "cancelled", None)
    )


# ---- after a loss of Redis


def lost(world: SlotWorld) -> None:
    """Redis is lost; the pod of the world is known to Kubernetes."""
    world.redis.flushall()
    world.begin()


def test_nothing_ends_before_it_is_known_what_runs(world: SlotWorld) -> None:
    """Rule limitgate: a job that its client submits again after a loss of Redis runs on a pod that has not reported."""
    world.add("a", ("*",))
    world.submit("j", queue_ms=0)
    world.deliver_all()
    lost(world)
    assert world.submit("j", queue_ms=0).state == "waiting"
    with pytest.raises(NotVerified):
        world.ledger.sweep(DAY)
    assert world.state("j") == "waiting"
    world.beat("a")
    world.beat("a")
    assert (world.over_time(), world.state("j")) == ({}, "running")


def test_an_attempt_that_is_reported_to_a_new_redis_has_what_is_left_of_its_time(world: SlotWorld) -> None:
    """Rule limitkept: its runner says for how long it has run."""
    runner = world.add("a", ("*", "*"))
    for job in ("one", "two"):
        world.submit(job, run_ms=HOUR_MS)
    world.deliver_all()
    one, two = sorted(runner.running)
    runner.ran = {one: HOUR_MS + 1, two: HOUR_MS // 2}
    lost(world)
    world.beat("a")
    world.beat("a")
    assert 0 < world.deadlines()["two"] <= HOUR_MS // 2
    assert world.over_time() == {"one": Limit.RUN}


def test_the_limit_of_a_runner_that_does_not_say_how_long_it_has_run_begins_anew(world: SlotWorld) -> None:
    world.add("a", ("*",))
    world.submit("j", run_ms=HOUR_MS)
    world.deliver_all()
    lost(world)
    world.beat("a")
    world.beat("a")
    assert HOUR_MS / 2 < world.deadlines()["j"] <= HOUR_MS
    assert world.over_time() == {}


def test_what_had_asked_to_stop_a_job_is_forgotten_with_redis(world: SlotWorld) -> None:
    """As a cancellation is. A record of an older copy says no reason of today."""
    world.add("a", ("*",))
    world.submit("j", run_ms=0)
    world.deliver_all()
    assert world.over_time() == {"j": Limit.RUN}
    world.redis.hdel(f"{world.ledger.prefix}meta", "seen", "inc")  # as after a restart from an older copy
    world.begin()
    world.beat("a")
    world.beat("a")
    assert world.record("j").limit is None
    assert world.cancel("j") == "cancelling"
    world.beat("a")
    world.ledger.finish("j", "plan", world.record("j").attempt, "cancelled")
    assert end(world.record("j")) == ("done", "cancelled", None)
