"""Faults of the slot ledger: what a report or a job may say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from berthmaster.jobs.job import Job
from tests.support.jobs.slot_recount import faults
from tests.support.jobs.slot_world import SlotWorld


def test_a_slot_that_a_cancelled_reservation_left_has_one_job_after_the_loss_of_redis(world: SlotWorld) -> None:
    """Its runner has not heard of the cancel, and lists both."""
    world.add("a", layout=("*",))
    world.submit("held", "plan", "apply")
    world.deliver_all()
    (attempt,) = world.runners["a"].running
    world.end("a", attempt)
    world.tell("a", attempt)
    world.submit("next", "apply")
    world.cancel("held")
    world.deliver_all()
    assert world.state("next") == "running"
    world.redis.flushall()
    world.begin()
    world.beat("a")
    world.beat("a")
    assert faults(world) == []


def test_a_report_of_thousands_of_jobs_in_one_slot_keeps_the_books(world: SlotWorld) -> None:
    runner = world.add("a")
    jobs = tuple(Job(f"j{n}", ("plan",)) for n in range(2_000))
    told = tuple((job.id, f"{runner.mark}-{n}", "plan", 1) for n, job in enumerate(jobs))
    world.ledger.report(replace(runner.report(), running=told, jobs=jobs))
    assert faults(world) == []


@pytest.mark.parametrize("slot", [0, -1, 99, 2**60])
def test_a_slot_that_the_pod_does_not_have_is_not_believed(world: SlotWorld, slot: int) -> None:
    runner = world.add("a")
    ghost = Job("ghost", ("plan",))
    told = (("ghost", f"{runner.mark}-1", "plan", slot),)
    world.ledger.report(replace(runner.report(), running=told, jobs=(ghost,)))
    assert world.ledger.record("ghost") is None


def test_a_plan_that_went_with_redis_and_its_pod_cannot_be_confirmed(world: SlotWorld) -> None:
    world.add("a")
    world.submit("j", "plan", "apply")
    world.deliver_all()
    (attempt,) = world.runners["a"].running
    world.end("a", attempt)
    world.tell("a", attempt)
    assert world.state("j") == "reserved"
    del world.runners["a"]
    world.redis.hdel(f"{world.ledger.prefix}meta", "inc", "seen")  # as when it is an old copy
    world.begin()
    told = world.ledger.confirm("j", attempt)
    assert (told.taken, told.state) == (False, "unknown")


def test_slots_that_no_pod_has_any_more_free_no_phase_of_its_serial_key(world: SlotWorld) -> None:
    world.add("old", layout=("*", ",plan,"))
    world.add("new", layout=("*", "*"))
    world.ledger.remove_pod("old")
    del world.runners["old"]
    world.submit("one", "plan", serial_key="w")
    world.submit("two", "plan", serial_key="w")
    assert (world.state("one"), world.state("two")) == ("placed", "waiting")


def test_a_key_that_is_free_because_its_pod_is_gone_starts_nothing_on_that_pod(world: SlotWorld) -> None:
    """The job that was confirmed there and waits for the key is planned again: it was lost with a message to nobody."""
    runner = world.add("a", layout=("*", "*", ",plan,"))
    world.submit("holder", "apply", serial_key="w")
    world.submit("next", "plan", "apply", serial_key="w")
    world.deliver_all()
    plan = next(attempt for attempt, (job, *_) in runner.running.items() if job == "next")
    world.ended("a", plan)
    world.confirm("next", plan)
    assert world.state("next") == "confirmed"
    world.kill("a")
    assert (world.wire, world.state("next"), world.record("next").phase) == ([], "waiting", "plan")
