"""Attempts that hang in a real runner: it ends them when their time is over, or whoever deletes its pod does."""

from __future__ import annotations

import os
import time
from datetime import timedelta

import orjson
import pytest

from berthmaster.client import Fleet
from berthmaster.jobs.job import Limit
from tests.integration.runner.conftest import POOL, RunnerPool
from tests.support.waiting import eventually
from workers.stores.slots.view import times

pytestmark = pytest.mark.row("SD-34")


def swept_to(pool: RunnerPool, job: str, state: str) -> bool:
    pool.sweep()
    return pool.record(job).state == state


def test_an_attempt_that_hangs_is_ended_and_its_slot_goes_to_the_next_job(pool: RunnerPool) -> None:
    pool.start("a", "prefork", slots=((),))
    pool.submit("hangs", seconds=3600, run_ms=1000)
    pool.submit("next")
    pool.ready("a")
    eventually(lambda: swept_to(pool, "hangs", "done"), 60)
    record = pool.record("hangs")
    assert (record.outcome, record.limit, record.result) == ("timed_out", Limit.RUN, "the process was ended")
    assert pool.reaches("next", "done", 60).outcome == "succeeded"
    assert pool.diary() == ["start hangs plan", "start next plan", "end next plan"]
    with Fleet(pool.url) as fleet:
        results = {result.job: (result.state, result.limit) for result in fleet.results(POOL, "0")}
    assert results == {"hangs": ("timed_out", Limit.RUN), "next": ("succeeded", None)}


@pytest.mark.row("SL-23")
def test_a_job_that_a_person_cancels_keeps_its_slot_while_its_process_cleans_up(pool: RunnerPool) -> None:
    """Rule hold: Celery says at once that it has revoked a task, although the process still runs."""
    pool.start("a", "prefork", slots=((), ()))
    pool.submit("tidy", "tidy")
    pool.ready("a")
    eventually(lambda: pool.diary() == ["start tidy plan"], 60)
    assert pool.ledger.cancel("tidy").state == "cancelling"
    eventually(lambda: pool.diary() == ["start tidy plan", "clean tidy plan"], 60)
    heard = times(pool.ledger).stopping["tidy"]
    eventually(lambda: times(pool.ledger).stopping["tidy"].total_seconds() > heard.total_seconds() + 2, 60)
    assert pool.record("tidy").state == "cancelling"
    pool.redis.set("runner:tidied", 1)
    record = pool.reaches("tidy", "done", 60)
    assert (record.outcome, record.result) == ("cancelled", "the process was ended")
    (attempt,) = (pool.directory / "spool-a").glob("*.json")
    assert orjson.loads(attempt.read_bytes())["outcome"] == "cancelled"


@pytest.mark.row("SL-23")
def test_a_process_that_does_not_stop_keeps_its_slot_until_its_pod_is_gone(pool: RunnerPool) -> None:
    """Rule runlimit: nothing else runs in the slot as long as the process may."""
    runner = pool.start("a", "prefork", slots=((),))
    pool.submit("deaf", "deaf", run_ms=1)
    pool.submit("next")
    pool.ready("a")
    eventually(lambda: pool.diary() == ["start deaf plan"], 60)
    eventually(lambda: swept_to(pool, "deaf", "cancelling"), 60)
    before = times(pool.ledger).stopping["deaf"]
    eventually(lambda: times(pool.ledger).stopping["deaf"].total_seconds() > before.total_seconds() + 2, 60)
    assert (pool.record("deaf").state, pool.record("next").state) == ("cancelling", "waiting")
    runner.kill()
    pool.ledger.remove_pod("uid-a")
    record = pool.record("deaf")
    assert (record.state, record.outcome, record.limit) == ("done", "timed_out", Limit.RUN)


def test_an_attempt_keeps_its_limit_over_a_loss_of_redis(pool: RunnerPool) -> None:
    """Rule limitkept: the runner has it, and says for how long the attempt has run."""
    pool.start("a", "prefork", slots=((),))
    pool.submit("j", seconds=3600, run_ms=3_600_000)
    pool.ready("a")
    eventually(lambda: pool.diary() == ["start j plan"], 60)
    (attempt,) = (pool.directory / "spool-a").glob("*.json")
    ago = min(1800, time.monotonic() / 2)
    os.utime(attempt, (time.monotonic() - ago,) * 2)  # as if it had begun then
    pool.redis.flushall()
    pool.ledger.begin(["uid-a"])
    eventually(lambda: pool.open("a"), 60)
    assert pool.record("j").run_ms == 3_600_000
    told = times(pool.ledger)
    assert timedelta(0) < told.deadlines["j"] - told.now <= timedelta(seconds=3600 - ago)
