"""A job that begins to wait for a slot is one event in the stream, whoever placed it or lost it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from redis import Redis

from berthmaster.jobs.job import Job
from berthmaster.jobs.placement import ORDER
from tests.support.event_stream import events_of, failures_of, journal_on
from tests.support.jobs.slot_world import SlotWorld

ONE = ("*",)


def swept(world: SlotWorld) -> list[str]:
    """The keys of all failures, after what a worker's sweep of the pool writes."""
    journal_on(world.redis).job_events(world.ledger)
    return [failed.key for failed in failures_of(world.redis)]


@pytest.mark.row("EV-31")
def test_a_job_without_a_slot_is_one_event_however_often_it_is_submitted(world: SlotWorld) -> None:
    for _ in range(3):
        world.submit("j", "plan", "apply")
    assert swept(world) == swept(world) == ["job/ci/runners/j"]
    (event,), (failed,) = events_of(world.redis), failures_of(world.redis)
    assert (event.source, event.subject) == ("/berthmaster/worker", failed.key)
    assert event.id.startswith("ci/runners/j/")
    assert (failed.uid, failed.resource, failed.pool, failed.reason) == (None, "slot", "ci/runners", "NoFreeSlot")
    assert failed.message == "pool ci/runners has no free slot for plan, apply"


@pytest.mark.row("EV-31")
def test_a_job_that_gets_a_slot_at_once_is_none(world: SlotWorld) -> None:
    world.add("a", ONE)
    assert world.submit("j").state == "placed"
    assert swept(world) == []


@pytest.mark.row("EV-31")
def test_a_job_that_has_lost_its_pod_and_waits_again_is_another_event(world: SlotWorld) -> None:
    world.submit("j")
    world.add("a", ONE)
    assert swept(world) == ["job/ci/runners/j"]
    world.runners.pop("a")
    world.send(world.ledger.remove_pod("a"))
    assert swept(world) == ["job/ci/runners/j"] * 2
    assert len({event.id for event in events_of(world.redis)}) == 2


@pytest.mark.row("EV-31")
def test_a_job_behind_a_serial_key_waits_for_no_slot(world: SlotWorld) -> None:
    world.add("a", ("*", "*"))
    world.submit("first", serial_key="shop")
    world.submit("second", serial_key="shop")
    assert world.ledger.record("second")
    assert swept(world) == []
    world.submit("third")
    world.submit("fourth")  # there were two slots, and the key leaves one
    assert swept(world) == ["job/ci/runners/fourth"]


@pytest.mark.row("EV-31")
def test_a_stream_that_is_off_keeps_no_failures(world: SlotWorld) -> None:
    world.submit("j")
    journal_on(world.redis, length=0).job_events(world.ledger)
    assert (failures_of(world.redis), world.redis.xlen("{sp:ci/runners}outbox")) == ([], 0)


@pytest.mark.row("EV-31")
def test_many_failures_are_all_written(world: SlotWorld) -> None:
    for number in range(1200):
        world.submit(f"j{number}")
    assert len(swept(world)) == 1200


@pytest.mark.row("EV-31", "HO-03")
@pytest.mark.parametrize("last", ["", "18446744073709551615-18446744073709551615"])
def test_a_job_is_taken_in_whatever_its_outbox_is(world: SlotWorld, last: str) -> None:
    outbox = f"{world.ledger.prefix}outbox"
    if last:
        world.redis.xadd(outbox, {"job": "x"}, id=last)
    else:
        world.redis.set(outbox, "no stream")
    assert world.submit("j").state == "waiting"
    assert swept(world) == ["job/ci/runners/j"]


@pytest.mark.row("EV-31")
def test_a_job_that_one_script_cannot_place_any_more_is_no_event_while_a_slot_is_free(redis: Redis) -> None:
    """A script places only so many. The sweeps go on, and what finds no slot then is one event."""
    world = SlotWorld(redis, order=replace(ORDER, most_placed=2))
    world.add("a", ("*", "*", "*"))
    jobs = [f"j{number}" for number in range(5)]
    for job in jobs:
        world.ledger.submit(Job(job, ("plan",)), timedelta(hours=1))
    redis.zadd(f"{world.ledger.prefix}later", dict.fromkeys(jobs, 0))
    world.sweep()
    assert [world.state(job) for job in jobs].count("placed") == 2
    assert swept(world) == []
    world.sweep()
    assert [world.state(job) for job in jobs].count("placed") == 3
    waiting = sorted(f"job/ci/runners/{job}" for job in jobs if world.state(job) == "waiting")
    assert sorted(swept(world)) == waiting
    world.sweep()
    assert sorted(swept(world)) == waiting
