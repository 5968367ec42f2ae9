"""Whoever follows the log of a job sees its lines as they come, and ends with the attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import pytest

from berthmaster.client import Fleet
from berthmaster.jobs.job import JobRecord
from berthmaster.jobs.logs import JobLogs, LogLine, LogPosition, NoSuchLog
from berthmaster.jobs.slot_ledger import SlotLedger
from tests.support.jobs.job_lines import write_lines
from tests.support.jobs.slot_world import SlotWorld
from tests.support.waiting import eventually

POOL = "ci/runners"


def started(world: SlotWorld) -> str:
    """The attempt of a job that runs."""
    world.add("a")
    world.submit("j")
    world.deliver_all()
    return world.only()


class Follower:
    """Reads in a thread, as a person does beside the runner."""

    def __init__(self, lines: Callable[[], Iterator[LogLine]]) -> None:
        self.lines = list[LogLine]()
        self.thread = Thread(target=lambda: self.lines.extend(lines()), daemon=True)
        self.thread.start()

    def all(self) -> list[str]:
        """The lines, once it has ended."""
        self.thread.join(60)
        assert not self.thread.is_alive()
        return [line.text for line in self.lines]


class CountingLedger(SlotLedger):
    """Counts how often a job was looked at."""

    looks = 0

    def record(self, job: str) -> JobRecord | None:
        self.looks += 1
        return super().record(job)


@pytest.mark.row("UI-23")
def test_a_follower_waits_for_the_start_and_ends_with_the_attempt(world: SlotWorld, redis_url: str) -> None:
    world.submit("j", "plan", "apply")
    ledger = CountingLedger(world.redis, world.scripts, POOL)
    follower = Follower(lambda: JobLogs(ledger).lines("j", follow=True))
    eventually(lambda: ledger.looks > 2)
    world.add("a")
    world.deliver_all()
    attempt = world.only()
    write_lines(world.ledger, "j", attempt, "one")
    eventually(lambda: follower.lines)
    write_lines(world.ledger, "j", attempt, "two", first=2, ended=True)
    assert follower.all() == ["one", "two"]
    world.ended("a", attempt)
    with Fleet(redis_url) as fleet:
        assert [line.text for line in fleet.logs(POOL, "j")] == ["one", "two"]
        assert [line.text for line in fleet.logs(POOL, "j", follow=True)] == ["one", "two"]
        with pytest.raises(NoSuchLog, match="knows no job other"):
            fleet.logs(POOL, "other", follow=True)


@pytest.mark.row("UI-23")
def test_a_follower_of_a_runner_that_dies_ends_with_its_job(world: SlotWorld) -> None:
    write_lines(world.ledger, "j", started(world), "one")
    follower = Follower(lambda: JobLogs(world.ledger).lines("j", follow=True))
    eventually(lambda: follower.lines)
    world.kill("a")
    assert world.state("j") == "waiting"
    assert follower.all() == ["one"]
    assert [line.text for line in JobLogs(world.ledger).lines("j")] == ["one"]


class LateLine(JobLogs):
    """The last line comes, and then the end, after the follower has found no more lines."""

    world: SlotWorld
    attempt: str

    def page(self, attempt: str, after: LogPosition, wait: int | None = None) -> Any:
        page = super().page(attempt, after, None)
        if after.number and self.world.runners["a"].running:
            write_lines(self.world.ledger, "j", self.attempt, "last", first=2)
            self.world.ended("a", self.attempt)
        return page


@pytest.mark.row("UI-23")
def test_a_line_that_comes_just_before_the_end_is_not_missed(world: SlotWorld) -> None:
    """Rule lastread."""
    logs = LateLine(world.ledger)
    logs.world, logs.attempt = world, started(world)
    write_lines(world.ledger, "j", logs.attempt, "one")
    assert [line.text for line in logs.lines("j", follow=True)] == ["one", "last"]
