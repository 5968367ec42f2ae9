"""Faults of the runner: results and spools that are not as one expects."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from pydantic import ValidationError
from redis import Redis

from berthmaster.client import Request
from berthmaster.jobs.dispatch import Dispatcher
from berthmaster.jobs.job import Job, Placed
from berthmaster.jobs.scripts import load_scripts
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.submission import Submission
from berthmaster.runner.attempts import Attempts
from berthmaster.runner.settings import RunnerSettings
from berthmaster.runner.spool import Kept, Spool
from tests.integration.runner.conftest import POOL, RunnerPool

POOLS = ("prefork", "threads")


class Disk(Spool):
    """A spool whose disk may be full."""

    full = False

    def put(self, kept: Kept) -> None:
        if self.full:
            raise OSError(28, "No space left on device")
        super().put(kept)


class Deaf:
    """A sender: what is placed is delivered by the test."""

    def send(self, placed: Iterable[Placed]) -> list[Placed]:
        return []


class Alone:
    """The runner's side without processes."""

    def __init__(self, redis: Redis, directory: Path) -> None:
        self.ledger = SlotLedger(redis, load_scripts(redis), POOL)
        self.spool = Disk(directory)
        self.settings = RunnerSettings(pool=POOL, pod="a", uid="u", spool=directory)
        self.ledger.begin([])
        self.attempts = self.restarted()
        self.beat()
        self.ledger.open("u")

    def restarted(self) -> Attempts:
        return Attempts(self.settings, self.ledger, Dispatcher(self.ledger, Deaf()), self.spool)

    def beat(self) -> None:
        self.attempts.beat(lambda _: False)

    def placed(self, name: str, *phases: str) -> Placed:
        return self.ledger.submit(Job(name, phases))[1][0]

    def state(self, name: str) -> str:
        record = self.ledger.record(name)
        assert record
        return f"{record.state} {record.outcome}".strip()


@pytest.fixture
def alone(redis: Redis, tmp_path: Path) -> Alone:
    return Alone(redis, tmp_path / "spool")


@pytest.mark.row("SL-07")
def test_an_end_is_told_though_the_spool_is_full(alone: Alone) -> None:
    placed = alone.placed("j", "apply")
    assert alone.attempts.start(placed)
    alone.spool.full = True
    alone.attempts.end(placed.attempt, "succeeded")
    alone.spool.full = False
    alone.beat()
    assert alone.state("j") == "done succeeded"


@pytest.mark.row("SL-14")
def test_the_reservation_of_a_plan_stands_though_the_spool_was_full(alone: Alone) -> None:
    placed = alone.placed("j", "plan", "apply")
    assert alone.attempts.start(placed)
    alone.spool.full = True
    alone.attempts.end(placed.attempt, "succeeded")
    alone.spool.full = False
    alone.beat()
    alone.beat()
    assert alone.state("j") == "reserved"


@pytest.mark.row("SL-07", "SL-28")
def test_a_job_whose_start_cannot_be_remembered_fails_instead_of_being_started_for_ever(alone: Alone) -> None:
    placed = alone.placed("j", "apply")
    alone.spool.full = True
    assert not alone.attempts.start(placed)
    assert alone.state("j") == "done failed"


@pytest.mark.row("SL-28")
@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"{}", b"null", b'{"job": 1}', b"\xff\xfe"])
def test_a_broken_file_does_not_silence_the_runner(alone: Alone, text: bytes) -> None:
    (alone.settings.spool / "1-1.json").write_bytes(text)
    attempts = alone.restarted()
    attempts.lost()
    attempts.beat(lambda _: False)


@pytest.mark.row("SL-28")
def test_a_file_of_another_name_does_not_silence_the_runner(alone: Alone) -> None:
    placed = alone.placed("j", "apply")
    assert alone.attempts.start(placed)
    path = alone.settings.spool / f"{placed.attempt}.json"
    path.with_stem("notes").write_bytes(path.read_bytes())
    alone.beat()


def test_phases_of_one_name_are_refused() -> None:
    """The slot ledger keeps the slot after the first of them, and the runner would not."""
    with pytest.raises(ValidationError, match="Duplicate value: plan"):
        Submission(id="j", pool=POOL, task="work", phases=["plan", "plan"])
    with pytest.raises(ValueError, match=r"phases: .*Duplicate value: plan"):
        Request("j", POOL, "work", phases=("plan", "plan"))


@pytest.mark.row("SL-07", "SL-22")
@pytest.mark.parametrize("kind", POOLS)
def test_a_task_that_leaves_ends_its_job(pool: RunnerPool, kind: str) -> None:
    pool.start("a", kind, slots=((),))
    pool.submit("j", "leave")
    pool.submit("after")
    pool.ready("a")
    assert pool.reaches("j", "done", 12).outcome == "failed"
    assert pool.reaches("after", "done", 12).outcome == "succeeded"


@pytest.mark.row("SL-07")
def test_a_result_that_is_not_utf_8_is_a_result(pool: RunnerPool) -> None:
    pool.start("a", "threads", slots=((),))
    pool.submit("j", "odd")
    pool.ready("a")
    assert pool.reaches("j", "done", 12).outcome == "succeeded"
