"""Who decides about a job is one event in the stream, however often the message of the decision comes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from berthmaster import routing
from berthmaster.client import Fleet, Request
from berthmaster.events import JOB_DECIDED, CloudEvent, JobDecided
from events.protocol.event_stream import EventStream
from events.settings import StreamSettings
from tests.support.event_stream import events_of, journal_on
from tests.support.faults.interruption import Fuse, Killed
from tests.support.jobs.jobs_desk import JobsDesk
from tests.support.jobs.slot_world import SlotWorld
from tests.support.waiting import eventually
from workers.stores.journal import EventJournal

POOL, KEY = "ci/runners", "job/ci/runners/j"


def written(world: SlotWorld) -> list[CloudEvent]:
    """The events of decisions, after what a worker's sweep of the pool writes."""
    journal_on(world.redis).job_events(world.ledger)
    return [event for event in events_of(world.redis) if event.type == JOB_DECIDED]


def decisions(world: SlotWorld) -> list[JobDecided]:
    return [JobDecided.model_validate(event.data) for event in written(world)]


def said(decision: str, by: str | None) -> str:
    return f"{decision} by {by}" if by else decision


def planned(world: SlotWorld) -> str:
    """The plan of a job that waits for a person."""
    world.add("a")
    return world.planned("j")


@pytest.mark.row("UI-17")
@pytest.mark.parametrize("by", ["olga", None])
def test_a_confirmation_is_one_event_with_its_plan_and_its_person(world: SlotWorld, by: str | None) -> None:
    plan = planned(world)
    assert not world.confirm("j", f"{plan}9", by)
    assert decisions(world) == []
    for _ in range(2):
        assert world.confirm("j", plan, by)
    (event,) = written(world)
    assert (event.source, event.subject, event.id.startswith("ci/runners/j/")) == ("/berthmaster/worker", KEY, True)
    assert decisions(world) == [
        JobDecided(key=KEY, pool=POOL, decision="confirmed", plan=plan, by=by, message=said("confirmed", by))
    ]


@pytest.mark.row("UI-17")
@pytest.mark.parametrize("by", ["olga", None])
def test_a_cancellation_is_one_event_and_none_once_the_job_has_ended(world: SlotWorld, by: str | None) -> None:
    world.submit("j")
    for _ in range(2):
        world.cancel("j", by)
    assert decisions(world) == [
        JobDecided(key=KEY, pool=POOL, decision="cancelled", by=by, message=said("cancelled", by))
    ]


@pytest.mark.row("UI-17", "EV-31")
def test_the_event_of_a_worker_that_dies_before_it_writes_it_is_written_by_the_sweep(world: SlotWorld) -> None:
    plan = planned(world)
    world.confirm("j", plan, "olga")
    stream = Fuse(0).guard(EventStream(StreamSettings()))
    with pytest.raises(Killed):
        EventJournal(world.redis, stream).job_events(world.ledger)
    assert [decided.by for decided in decisions(world)] == ["olga"]


@pytest.mark.row("UI-17")
def test_a_fleet_names_who_has_decided_also_when_it_repeats_it(world: SlotWorld, redis_url: str) -> None:
    world.add("a")
    deploy = Request("j", POOL, "work", phases=("plan", "apply"))
    with Fleet(redis_url) as fleet, JobsDesk(world) as desk:
        plan = fleet.run(deploy, timedelta(seconds=60)).plan
        desk.lose[routing.SLOTS_CONFIRM] = 1
        fleet.confirm(POOL, "j", plan, by="olga")
        assert fleet.run(deploy, timedelta(seconds=60)).outcome == "succeeded"
        with desk.lock:
            world.submit("k", "destroy")
        with pytest.raises(ValueError, match="by"):
            fleet.cancel(POOL, "k", by="x" * 201)
        fleet.cancel(POOL, "k", by="alice")
        eventually(lambda: [decided.by for decided in decisions(world)] == ["olga", "alice"])
