"""The rules that a runner must keep: the shortest history that breaks each, forced on its real memory and reports."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

import pytest
from redis import Redis
from redis.exceptions import TimeoutError as RedisTimeoutError

from berthmaster.clock import touch
from berthmaster.jobs.dispatch import Dispatcher
from berthmaster.jobs.job import Job, JobRecord, Placed
from berthmaster.jobs.runner_ledger import Answer, Change, Report, Started
from berthmaster.jobs.scripts import load_scripts
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.runner.attempts import Attempts
from berthmaster.runner.settings import RunnerSettings
from berthmaster.runner.spool import Spool
from tests.integration.runner.conftest import POOL
from workers.stores.slots.view import view

Then = Callable[[], object]


class Line(SlotLedger):
    """The way to Redis: what happens `after_start` comes between the grant and its answer; `cut` lets no end through.

    `reports`: how many are heard before one is lost.
    """

    after_start: Then | None = None
    cut = False
    reports = -1

    def report(self, report: Report) -> Answer:
        self.reports -= 1
        return no_answer() if self.reports == -1 else super().report(report)

    def start(self, *args: Any) -> Started | None:
        granted = super().start(*args)
        then, self.after_start = self.after_start, None
        if then:
            then()
        return granted

    def finish(self, *args: Any) -> Change:
        return no_answer() if self.cut else super().finish(*args)


def no_answer() -> NoReturn:
    raise RedisTimeoutError("no answer")


class Inbox:
    """What is sent to the pod, for the test to deliver."""

    def __init__(self) -> None:
        self.messages: list[Placed] = []

    def send(self, placed: Iterable[Placed]) -> list[Placed]:
        self.messages += placed
        return []


class OneRunner:
    """Pod `a` with one slot: its runner's side, and what its processes do."""

    def __init__(self, redis: Redis, directory: Path) -> None:
        self.redis, self.inbox, self.directory = redis, Inbox(), directory
        self.ledger = Line(redis, load_scripts(redis), POOL)
        settings = RunnerSettings(pool=POOL, pod="a", uid="u", slots=((),), spool=directory)
        dispatcher = Dispatcher(self.ledger, self.inbox)
        self.attempts = Attempts(settings, self.ledger, dispatcher, Spool(directory))
        self.begin()

    def begin(self) -> None:
        self.ledger.begin(["u"])
        self.beat()
        self.inbox.messages += self.ledger.open("u") or ()

    def beat(self) -> None:
        self.attempts.beat(lambda _: True)

    def submit(self, name: str, *phases: str) -> None:
        self.inbox.messages += self.ledger.submit(Job(name, phases or ("apply",)))[1]

    def take(self) -> Placed:
        return self.inbox.messages.pop(0)

    def started(self, name: str, *phases: str) -> str:
        self.submit(name, *phases)
        message = self.take()
        assert self.attempts.start(message)
        return message.attempt

    def record(self, name: str) -> JobRecord:
        record = self.ledger.record(name)
        assert record
        return record


@pytest.fixture
def runner(redis: Redis, tmp_path: Path) -> OneRunner:
    return OneRunner(redis, tmp_path / "spool")


@pytest.mark.row("UI-15")
def test_a_runner_reports_its_version(runner: OneRunner) -> None:
    (pod,) = view(runner.ledger).pods
    assert pod.version == version("berthmaster")


@pytest.mark.row("SL-11", "SL-22")
def test_a_start_whose_answer_is_slow_is_not_taken_for_lost(runner: OneRunner) -> None:
    """Rule newerreport: reports go out meanwhile, the process starts after all, and is not placed a second time."""

    def two_reports() -> None:
        runner.beat()
        runner.beat()

    runner.submit("j")
    message = runner.take()
    runner.ledger.after_start = two_reports
    assert runner.attempts.start(message)
    assert (runner.inbox.messages, runner.record("j").attempt) == ([], message.attempt)
    runner.beat()
    runner.beat()
    assert runner.record("j").state == "running"


@pytest.mark.row("SL-11", "SL-13")
def test_a_start_whose_answer_is_slow_while_redis_is_lost_is_not_placed_again(runner: OneRunner) -> None:
    """Rules newerreport, report: no new incarnation hears a report while an older one may still grant a start."""

    def lost() -> None:
        runner.redis.flushall()
        runner.begin()
        runner.beat()
        runner.submit("j")

    runner.submit("j")
    message = runner.take()
    runner.ledger.after_start = lost
    assert runner.attempts.start(message)
    runner.begin()
    assert (runner.inbox.messages, runner.record("j").state, runner.record("j").attempt) == (
        [],
        "running",
        message.attempt,
    )


@pytest.mark.row("SL-22")
def test_a_start_whose_answer_is_lost_is_reported_as_absent(runner: OneRunner) -> None:
    """Rule list: it is asked again, refused, and nobody runs it."""
    runner.submit("j")
    message = runner.take()
    runner.ledger.after_start = no_answer
    with pytest.raises(RedisTimeoutError):
        runner.attempts.start(message)
    assert not runner.attempts.start(message)
    runner.beat()
    runner.beat()
    assert runner.take().attempt != message.attempt


@pytest.mark.row("SL-22")
@pytest.mark.parametrize("ends", ["its process is killed", "its worker starts anew"])
def test_a_start_that_ended_before_it_was_remembered_is_reported_as_absent(runner: OneRunner, ends: str) -> None:
    """Rule list: what waits for its answer is no claim to run."""
    runner.submit("j")
    message = runner.take()
    question = runner.directory / f"{message.attempt}.1-1.asked"  # as a killed process leaves it
    question.write_text(message.id)
    touch(question)
    assert runner.ledger.start(message.id, message.phase, message.attempt, message.uid)
    for _ in range(2):
        runner.beat()
    assert runner.record("j").attempt == message.attempt
    if ends == "its process is killed":
        runner.attempts.end(message.attempt, "failed", "the process was ended")
    else:
        runner.attempts.lost()
    runner.beat()
    assert runner.take().attempt != message.attempt


@pytest.mark.row("SL-07", "SL-22")
def test_an_end_that_could_not_be_told_is_told_by_the_next_report(runner: OneRunner) -> None:
    """Rule keep: else its absence means that it is lost, and it runs again."""
    attempt = runner.started("j")
    runner.beat()
    runner.ledger.cut = True
    runner.attempts.end(attempt, "succeeded", "42")
    assert runner.record("j").state == "running"
    runner.beat()
    assert (runner.record("j").outcome, runner.record("j").result) == ("succeeded", "42")
    runner.beat()
    assert runner.inbox.messages == []


@pytest.mark.row("SL-13", "SL-11")
def test_an_end_that_was_acknowledged_is_told_to_a_redis_that_has_lost_it(runner: OneRunner) -> None:
    """Rule outs."""
    runner.attempts.end(runner.started("j"), "succeeded", "42")
    runner.beat()
    runner.redis.flushall()
    runner.ledger.begin(["u"])
    runner.submit("j")
    runner.begin()
    assert (runner.record("j").outcome, runner.record("j").result, runner.inbox.messages) == ("succeeded", "42", [])


@pytest.mark.row("SL-13", "SL-11")
@pytest.mark.parametrize("lost", [0, 1, 2, 3])
def test_a_report_to_a_new_redis_that_is_lost_is_made_whole_again(runner: OneRunner, lost: int) -> None:
    """Rules report, outs: the first that is heard under a new mark must tell everything."""
    runner.attempts.end(runner.started("done"), "succeeded")
    runner.beat()
    attempt = runner.started("runs")
    runner.redis.flushall()
    runner.ledger.begin(["u"])
    runner.ledger.reports = lost
    for _ in range(3):
        with contextlib.suppress(RedisTimeoutError):
            runner.beat()
    runner.ledger.open("u")
    assert (runner.record("runs").state, runner.record("runs").attempt) == ("running", attempt)
    assert runner.record("done").outcome == "succeeded"


@pytest.mark.row("SL-13", "SL-14")
def test_a_reservation_is_reported_as_long_as_it_stands(runner: OneRunner) -> None:
    """Rule held: by every report, and to a Redis that has lost it."""
    plan = runner.started("j", "plan", "apply")
    runner.attempts.end(plan, "succeeded")
    for _ in range(3):
        runner.beat()
    assert runner.record("j").state == "reserved"
    runner.redis.flushall()
    runner.begin()
    assert (runner.record("j").state, runner.record("j").plan) == ("reserved", plan)
    runner.inbox.messages += runner.ledger.confirm("j", plan).placed
    assert runner.attempts.start(runner.take())
    runner.beat()
    assert (runner.record("j").state, runner.record("j").phase) == ("running", "apply")


@pytest.mark.row("SL-19", "SL-13")
def test_a_reservation_that_is_over_is_forgotten_by_its_runner(runner: OneRunner) -> None:
    """Rule held: else it would come back with the next loss of Redis."""
    runner.attempts.end(runner.started("j", "plan", "apply"), "succeeded")
    runner.ledger.cancel("j")
    runner.beat()
    runner.redis.flushall()
    runner.begin()
    assert runner.ledger.record("j") is None
    assert runner.ledger.sweep(timedelta(days=1)).expired == ()


@pytest.mark.row("HO-07")
def test_a_job_whose_record_is_lost_is_told_with_its_request(runner: OneRunner) -> None:
    """Rule restored."""
    attempt = runner.started("j")
    runner.beat()
    runner.redis.hdel(f"{runner.ledger.prefix}jobs", "j")
    runner.beat()
    assert (runner.record("j").state, runner.record("j").attempt) == ("running", attempt)


@pytest.mark.row("HO-07")
def test_the_end_of_a_job_whose_record_is_lost_is_told_by_the_next_report(runner: OneRunner) -> None:
    """Rule restored."""
    attempt = runner.started("j")
    runner.beat()
    runner.redis.hdel(f"{runner.ledger.prefix}jobs", "j")
    runner.attempts.end(attempt, "succeeded", "it worked")
    assert runner.ledger.record("j") is None
    runner.beat()
    assert (runner.record("j").outcome, runner.record("j").result) == ("succeeded", "it worked")
