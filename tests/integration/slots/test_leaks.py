"""No slot leaks and no job is lost, wherever a worker dies between the ledger and a pod's queue (hatchet#4494)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

from berthmaster.jobs.dispatch import Dispatcher
from berthmaster.jobs.job import Placed
from berthmaster.jobs.slot_ledger import SlotLedger
from tests.support.faults.interruption import Killed
from tests.support.jobs.slot_world import DAY, SlotWorld


class Dying(SlotLedger):
    """The worker dies right before it takes a message back, or right after."""

    after = False

    def undo(self, job: str, attempt: str, wait: timedelta) -> tuple[int, tuple[Placed, ...]]:
        if self.after:
            super().undo(job, attempt, wait)
        raise Killed


class Broker:
    """Takes `takes` messages of a batch; then the worker dies, or the broker is away."""

    def __init__(self, world: SlotWorld, takes: int, dies: bool) -> None:
        self._world, self._takes, self._dies = world, takes, dies

    def send(self, placed: Iterable[Placed]) -> list[Placed]:
        all_placed = list(placed)
        self._world.send(tuple(all_placed[: self._takes]))
        if self._dies:
            raise Killed
        return all_placed[self._takes :]


@pytest.mark.row("SL-07", "SL-09", "SL-10", "SL-11")
@pytest.mark.parametrize("takes", range(4))
@pytest.mark.parametrize("death", ["while it sends", "before it takes back", "after it has taken back", "not at all"])
def test_jobs_are_done_once_and_slots_come_back_wherever_their_worker_died(
    world: SlotWorld, takes: int, death: str
) -> None:
    ledger = world.ledger
    if "taken back" in death or "takes back" in death:
        ledger = Dying(world.redis, world.scripts, world.ledger.pool)
        ledger.after = death.startswith("after")
    for n in range(3):
        world.submit(f"j{n}", when_lost="fail")
    report = world.add("a")
    assert report
    placed, world.wire = world.wire, []
    with contextlib.suppress(Killed):
        Dispatcher(ledger, Broker(world, takes, death == "while it sends")).dispatch(placed)
    for _ in range(4):
        world.deliver_all()
        for attempt in list(world.runners["a"].running):
            world.end("a", attempt)
            world.beat("a")
        due(world)
    assert [world.record(f"j{n}").outcome for n in range(3)] == ["succeeded"] * 3
    assert dict(world.effects) == {f"j{n} plan": 1 for n in range(3)}
    assert (world.count("used"), world.count("reserved")) == (0, 0)


def due(world: SlotWorld) -> None:
    """The time of each next message, and of what waits, has come."""
    for name in ("sent", "later"):
        key = f"{world.ledger.prefix}{name}"
        jobs: Any = world.redis.zrange(key, 0, -1)
        for job in jobs:
            world.redis.zadd(key, {job: 0})
    world.send(world.ledger.sweep(DAY).placed)


@pytest.mark.row("SL-27", "SL-06")
def test_a_slot_that_is_given_back_twice_is_not_taken_from_the_next(world: SlotWorld) -> None:
    """Field bug hatchet#858: the second release is nothing."""
    world.add("a", layout=("*",))
    for job in ("one", "two"):
        world.submit(job)
    (first,) = world.wire
    world.deliver_all()
    world.ended("a", first.attempt)
    world.deliver_all()
    for again in range(2):
        world.tell("a", first.attempt)
        world.ledger.undo("one", first.attempt, timedelta(0))
        world.beat("a")
        assert (world.state("two"), world.count("used"), again) == ("running", 1, again)
