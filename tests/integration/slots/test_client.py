"""What `Fleet.run` takes for the end of a job, before and after a plan was confirmed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from berthmaster import routing
from berthmaster.client import Fleet, Request
from berthmaster.jobs.decisions import Decisions, JobDecision
from berthmaster.redis.identity import AnotherFleet
from tests.support.jobs.jobs_desk import JobsDesk
from tests.support.jobs.slot_world import SlotWorld

POOL = "ci/runners"
JOB = Request("j", POOL, "work", phases=("plan", "apply"))
LONG, OFTEN = timedelta(seconds=20), timedelta(milliseconds=100)


@pytest.mark.row("SL-14", "SL-16")
def test_run_after_a_confirmation_that_is_on_its_way_waits_for_the_end_of_the_apply(
    world: SlotWorld, redis_url: str
) -> None:
    world.add("a")
    with JobsDesk(world, late=0.3), Fleet(redis_url) as fleet:
        planned = fleet.run(JOB, LONG)
        assert planned.state == "reserved"
        fleet.confirm(POOL, "j", planned.plan)
        ended = fleet.run(JOB, LONG)
        assert (ended.phase, ended.outcome) == ("apply", "succeeded")
    assert world.effects == {"j plan": 1, "j apply": 1}


@pytest.mark.row("SL-16")
def test_run_confirms_again_what_was_confirmed_and_lost(world: SlotWorld, redis_url: str) -> None:
    world.add("a")
    with JobsDesk(world) as desk, Fleet(redis_url) as fleet:
        desk.lose[routing.SLOTS_CONFIRM] = 2
        fleet.confirm(POOL, "j", fleet.run(JOB, LONG).plan)
        assert fleet.run(JOB, LONG, OFTEN).outcome == "succeeded"
    assert world.effects == {"j plan": 1, "j apply": 1}


@pytest.mark.row("SL-16")
def test_another_plan_than_the_confirmed_one_waits_for_a_person(world: SlotWorld, redis_url: str) -> None:
    """Its runner was lost before the confirmation came, and its plan was made again."""
    world.add("a")
    with JobsDesk(world) as desk, Fleet(redis_url) as fleet:
        desk.lose[routing.SLOTS_CONFIRM] = 1
        old = fleet.run(JOB, LONG)
        fleet.confirm(POOL, "j", old.plan)
        with desk.lock:
            world.kill("a")
            world.add("b")
        fresh = fleet.run(JOB, LONG, OFTEN)
        assert (fresh.state, fresh.plan != old.plan) == ("reserved", True)
    assert world.effects == {"j plan": 2}


@pytest.mark.row("SL-16")
def test_what_is_cancelled_is_not_confirmed_again(world: SlotWorld, redis_url: str) -> None:
    """The confirmation and the cancel are lost, and the cancel is said again."""
    world.add("a")
    with JobsDesk(world) as desk, Fleet(redis_url) as fleet:
        desk.lose.update({routing.SLOTS_CONFIRM: 1, routing.SLOTS_CANCEL: 2})
        fleet.confirm(POOL, "j", fleet.run(JOB, LONG).plan)
        fleet.cancel(POOL, "j")
        assert fleet.run(JOB, LONG, OFTEN).outcome == "cancelled"
    assert world.effects == {"j plan": 1}


@pytest.mark.row("SL-14", "SL-16")
def test_run_after_a_cancel_that_is_on_its_way_waits_for_the_end(world: SlotWorld, redis_url: str) -> None:
    world.add("a")
    with JobsDesk(world, late=0.3), Fleet(redis_url) as fleet:
        assert fleet.run(JOB, LONG).state == "reserved"
        fleet.cancel(POOL, "j")
        ended = fleet.run(JOB, LONG)
        assert (ended.state, ended.outcome) == ("done", "cancelled")


@pytest.mark.row("SL-16")
def test_a_job_that_was_cancelled_cannot_be_confirmed(world: SlotWorld, redis_url: str) -> None:
    world.add("a")
    with JobsDesk(world) as desk, Fleet(redis_url) as fleet:
        planned = fleet.run(JOB, LONG)
        desk.lose[routing.SLOTS_CANCEL] = 1
        fleet.cancel(POOL, "j")
        with pytest.raises(ValueError, match="job j of ci/runners was cancelled"):
            fleet.confirm(POOL, "j", planned.plan)
        fleet.run(JOB, LONG, OFTEN)
        with pytest.raises(ValueError, match="was cancelled"):
            fleet.confirm(POOL, "j", planned.plan)
    assert world.effects == {"j plan": 1}


@pytest.mark.row("SL-16")
def test_a_cancelled_job_that_nobody_knows_any_more_is_not_started_anew(world: SlotWorld, redis_url: str) -> None:
    world.add("a")
    with JobsDesk(world) as desk, Fleet(redis_url) as fleet:
        fleet.run(JOB, LONG)
        fleet.cancel(POOL, "j")
        fleet.run(JOB, LONG)
        with desk.lock:
            world.ledger.sweep(timedelta(0))
        assert fleet.job(POOL, "j") is None
        with pytest.raises(TimeoutError, match="cancelled, and nobody knows it"):
            fleet.run(JOB, timedelta(seconds=1), OFTEN)
    assert world.effects == {"j plan": 1}


def test_what_was_decided_longest_ago_is_forgotten_first() -> None:
    decisions = Decisions(most=2)
    for job in ("first", "second", "first", "third"):
        decisions.keep(POOL, job, JobDecision(None, None))
    assert [decisions.cancelled(POOL, job) for job in ("first", "second", "third")] == [True, False, True]


def test_threads_that_decide_at_once_lose_no_decision() -> None:
    decisions, jobs = Decisions(most=50), [f"j{number}" for number in range(20_000)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda job: decisions.keep(POOL, job, JobDecision(None, None)), jobs))
    assert decisions.cancelled(POOL, jobs[-1])


@pytest.mark.row("RD-23")
def test_a_client_that_names_its_fleet_sends_nothing_to_another_s_redis(world: SlotWorld, redis_url: str) -> None:
    world.ledger.redis.hset("{queue}meta", "cluster", "blue")
    with Fleet(redis_url, cluster="green") as fleet:
        for ask in (
            lambda: fleet.submit(JOB),
            lambda: fleet.run(JOB, LONG),
            lambda: fleet.confirm(POOL, "j", "1-1"),
            lambda: fleet.cancel(POOL, "j"),
        ):
            with pytest.raises(AnotherFleet, match="belongs to fleet blue"):
                ask()
    assert not any(world.ledger.redis.llen(queue) for queue in routing.ALL)
    with Fleet(redis_url, cluster="blue") as fleet:
        fleet.submit(JOB)
    assert world.ledger.redis.llen(routing.QUEUES[routing.SLOTS_SUBMIT]) == 1
