"""The scripts do what the table of transitions says: every state meets every event on a real Redis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from redis import Redis

from berthmaster.jobs import lifecycle, placement, scripts
from berthmaster.jobs.job import Job, JobState
from berthmaster.jobs.lifecycle import ENDED, LIFECYCLE, Event, transition
from berthmaster.jobs.scripts import load_scripts, tables
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.transition import Fact
from tests.support.jobs.slot_world import DAY, SlotWorld

LAYOUT = ("*", "*", ",plan,")
MINUTE = timedelta(minutes=1)
JOB = Job("j", ("plan", "apply"), serial_key="w")
Step = Callable[[SlotWorld], object]


def waiting(world: SlotWorld) -> None:
    world.ledger.quarantine("a")
    submit(world)


def submit(world: SlotWorld) -> None:
    world.send(world.ledger.submit(JOB)[1])


def running(world: SlotWorld) -> None:
    submit(world)
    world.deliver_all()


def reserved(world: SlotWorld) -> None:
    running(world)
    world.ended("a", world.only())


def confirmed(world: SlotWorld) -> None:
    """Another job has its serial key."""
    world.submit("other", "apply", serial_key="w")
    world.deliver_all()
    submit(world)
    world.deliver_all()
    plan = next(attempt for attempt, (job, *_) in world.runners["a"].running.items() if job == "j")
    world.ended("a", plan)
    world.confirm("j", plan)


def cancelling(world: SlotWorld) -> None:
    running(world)
    world.cancel("j")


def done(world: SlotWorld) -> None:
    running(world)
    world.ended("a", world.only(), "failed")


def unknown(world: SlotWorld) -> None:
    """Redis was replaced by a copy of a time when nothing had started."""
    waiting(world)
    lose_ledger(world)
    world.beat("a")
    world.beat("a")


STATES: dict[JobState, Step] = {
    JobState.WAITING: waiting,
    JobState.PLACED: submit,
    JobState.RUNNING: running,
    JobState.RESERVED: reserved,
    JobState.CONFIRMED: confirmed,
    JobState.CANCELLING: cancelling,
    JobState.DONE: done,
    JobState.UNKNOWN: unknown,
}


def lose_ledger(world: SlotWorld) -> None:
    world.redis.hset(f"{world.ledger.prefix}meta", mapping={"inc": "other", "seen": "other"})
    world.begin()


def due(world: SlotWorld, index: str) -> None:
    """The job is in that index, whether it belongs there or not, and its time has come."""
    world.redis.zadd(f"{world.ledger.prefix}{index}", {"j": 0})
    world.ledger.sweep(DAY)


def report(world: SlotWorld, **told: Any) -> None:
    """What the runner lists of the job; of everything else it tells the truth."""
    honest = world.runners["a"].report()
    lists: dict[str, Any] = {
        name: (*(item for item in getattr(honest, name) if item[0] != "j"), *told.get(name, ()))
        for name in ("running", "reserved", "ended")
    }
    world.ledger.report(replace(honest, **lists, jobs=(JOB,), grants=99))


def attempt_of(world: SlotWorld) -> str:
    return world.record("j").attempt or "1-1"


def slot_of(world: SlotWorld) -> int:
    return world.record("j").slot or 3


def end(world: SlotWorld) -> None:
    record = world.record("j")
    world.ledger.finish("j", record.phase, record.attempt, "failed")


def start(world: SlotWorld) -> None:
    record = world.record("j")
    world.ledger.start("j", record.phase, record.attempt, record.uid or "a")


EVENTS: dict[Event, tuple[Step, frozenset[Fact]]] = {
    Event.SUBMIT: (lambda world: world.ledger.submit(JOB), frozenset()),
    Event.DELAY_OVER: (lambda world: due(world, "later"), frozenset()),
    Event.UNSENT: (
        lambda world: world.ledger.undo("j", attempt_of(world), MINUTE),
        frozenset({Fact.SAME_ATTEMPT, Fact.FIRST_PHASE}),
    ),
    Event.RESEND: (lambda world: due(world, "sent"), frozenset({Fact.HAS_SLOT})),
    Event.START: (start, frozenset({Fact.SAME_ATTEMPT, Fact.HAS_SLOT})),
    Event.END: (end, frozenset({Fact.SAME_ATTEMPT, Fact.HAS_SLOT, Fact.MORE_PHASES})),
    Event.CONFIRM: (
        lambda world: world.ledger.confirm("j", world.record("j").plan or "1-1"),
        frozenset({Fact.HAS_SLOT}),
    ),
    Event.CANCEL: (lambda world: world.ledger.cancel("j"), frozenset()),
    Event.EXPIRE: (lambda world: due(world, "due"), frozenset()),
    Event.LOSE: (lambda world: world.ledger.remove_pod("a"), frozenset({Fact.FIRST_PHASE, Fact.REPEATABLE})),
    Event.POD_ENDS: (lambda world: world.ledger.quarantine("a", for_good=True), frozenset()),
    Event.UNLISTED: (report, frozenset({Fact.FIRST_PHASE, Fact.REPEATABLE})),
    Event.REPORT_RUNNING: (
        lambda world: report(world, running=(("j", attempt_of(world), "plan", slot_of(world)),)),
        frozenset({Fact.SAME_ATTEMPT}),
    ),
    Event.REPORT_RESERVED: (
        lambda world: report(world, reserved=(("j", attempt_of(world), "plan", slot_of(world)),)),
        frozenset({Fact.SAME_ATTEMPT}),
    ),
    Event.REPORT_END: (
        lambda world: report(world, ended=(("j", attempt_of(world), "plan", "failed", ""),)),
        frozenset({Fact.SAME_ATTEMPT, Fact.MORE_PHASES}),
    ),
    Event.LEDGER_LOST: (lose_ledger, frozenset()),
}
"""How each comes about, and the facts that hold then. `place` and `key_free` come of others, see below."""


@pytest.mark.row("SL-31", "SL-27")
@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("state", STATES)
def test_a_script_takes_a_job_where_the_table_says_and_nowhere_else(
    redis: Redis, state: JobState, event: Event
) -> None:
    world = SlotWorld(redis)
    world.add("a", LAYOUT)
    STATES[state](world)
    assert world.state("j") == state
    world.ledger.quarantine("a")  # so that nothing is placed anew
    step, facts = EVENTS[event]
    step(world)
    row = transition(state, event, facts)
    after = row.state if row and row.state else state
    if (state, event) == (JobState.RESERVED, Event.CONFIRM):
        after = JobState.PLACED  # nobody has its serial key
    assert world.state("j") == after


@pytest.mark.row("SL-18", "SL-24")
@pytest.mark.parametrize("state", [JobState.WAITING, JobState.CONFIRMED])
def test_a_job_that_waits_for_its_key_goes_on_when_the_key_is_free(world: SlotWorld, state: JobState) -> None:
    """Events key_free and place."""
    world.add("a", LAYOUT)
    if state is JobState.CONFIRMED:
        confirmed(world)
    else:
        world.submit("other", "apply", serial_key="w")
        world.deliver_all()
        world.submit("j", "apply", serial_key="w")
    assert world.state("j") == state
    other = next(attempt for attempt, (job, *_) in world.runners["a"].running.items() if job == "other")
    world.ended("a", other)
    row = transition(state, Event.PLACE)
    assert row
    assert world.state("j") == row.state


@pytest.fixture
def ledger_of(redis: Redis) -> Callable[..., SlotWorld]:
    """A world whose scripts were loaded with other tables than ours."""

    def world_with(**changed: Any) -> SlotWorld:
        world = SlotWorld(redis)
        before = {script: loaded.digest for script, loaded in world.scripts.items()}
        world.scripts = load_scripts(redis, tables(**changed))
        assert before != {script: loaded.digest for script, loaded in world.scripts.items()}
        world.ledger = SlotLedger(redis, world.scripts, world.ledger.pool)
        return world

    return world_with


def test_another_table_is_another_life(ledger_of: Callable[..., SlotWorld]) -> None:
    """A running job that is cancelled ends at once, and one that is placed cannot be cancelled."""
    cancel = {JobState.RUNNING: (replace(ENDED, outcome="stopped"),)}
    world = ledger_of(lifecycle={**LIFECYCLE, Event.CANCEL: cancel})
    world.add("a", layout=("*",))
    world.submit("one")
    world.submit("two")
    assert not world.ledger.cancel("one").taken
    world.deliver_all()
    assert world.cancel("one") == "done"
    assert (world.record("one").outcome, world.state("two")) == ("stopped", "placed")


def test_another_order_of_placement_fills_the_emptiest_pod(ledger_of: Callable[..., SlotWorld]) -> None:
    world = ledger_of(order=replace(placement.ORDER, busy_slot=1))
    world.add("a")
    world.add("b")
    assert world.submit("p1").uid != world.submit("p2").uid


def test_another_weight_of_priorities_lets_the_first_to_come_go_first(ledger_of: Callable[..., SlotWorld]) -> None:
    world = ledger_of(order=replace(placement.ORDER, priority=0))
    world.submit("early", "apply", priority=9)
    world.submit("urgent", "apply", priority=0)
    world.add("a", layout=("*",))
    assert (world.state("early"), world.state("urgent")) == ("placed", "waiting")


def test_every_event_has_its_rows_in_some_script() -> None:
    lua = "".join(path.read_text() for path in scripts.LUA.rglob("*.lua"))
    assert {event for event in Event if f'--- @table "{event.value}"' not in lua} == set()
    assert lifecycle.LIFECYCLE.keys() <= tables().keys()
