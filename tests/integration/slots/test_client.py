"""What `Fleet.run` takes for the end of a job, before and after a plan was confirmed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from events import routing
from tests.support.jobs_desk import JobsDesk
from tests.support.slot_world import SlotWorld
from workers.client import Fleet, Request

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
    world.add("a")
    with JobsDesk(world) as desk, Fleet(redis_url) as fleet:
        desk.lose.update({routing.SLOTS_CONFIRM: 1, routing.SLOTS_CANCEL: 1})
        fleet.confirm(POOL, "j", fleet.run(JOB, LONG).plan)
        fleet.cancel(POOL, "j")
        assert fleet.run(JOB, LONG, OFTEN).state == "reserved"
        fleet.cancel(POOL, "j")
        assert world.effects == {"j plan": 1}
