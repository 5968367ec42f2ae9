"""Real Celery workers of a client's application as runners: they ask before they start, and tell how it ended."""

from __future__ import annotations

import os
import signal
from datetime import timedelta

import pytest

from berthmaster.client import Fleet, Request
from berthmaster.jobs.job import Job, PoolLimits
from berthmaster.jobs.messages import Body, JobSender, queue_of
from berthmaster.routing import JOBS
from tests.integration.runner.conftest import POOL, RunnerPool
from tests.support.waiting import eventually

POOLS = ("prefork", "threads")
DAY = timedelta(days=1)


def job_of(name: str) -> Job:
    return Job(name, ("plan",), body=Body(task="work").encoded())


@pytest.mark.row("SL-07", "SL-14", "SL-15", "SL-16")
@pytest.mark.parametrize("kind", POOLS)
def test_a_job_of_two_phases_runs_in_one_slot_with_a_person_between(pool: RunnerPool, kind: str) -> None:
    pool.start("a", kind)
    pool.submit("j", phases=("plan", "apply"))
    pool.ready("a")
    reserved = pool.reaches("j", "reserved")
    assert pool.diary() == ["start j plan", "end j plan"]
    pool.dispatcher.dispatch(pool.ledger.confirm("j", reserved.plan).placed)
    done = pool.reaches("j", "done")
    assert (done.outcome, done.result) == ("succeeded", "done")
    assert pool.diary()[2:] == ["start j apply", "end j apply"]


@pytest.mark.row("SL-18", "SL-26")
def test_a_job_that_a_client_places_itself_runs_without_a_worker(pool: RunnerPool) -> None:
    pool.ledger.resize("1-a", None, 0, 1, 1, PoolLimits(timedelta(hours=1)))
    pool.start("a", "threads")
    pool.ready("a")
    with Fleet(pool.url) as fleet:
        ended = fleet.run(Request("j", POOL, "work"), timedelta(seconds=60))
    assert (ended.outcome, ended.result, pool.redis.llen(JOBS)) == ("succeeded", "done", 0)
    assert pool.diary() == ["start j plan", "end j plan"]


@pytest.mark.row("SL-07", "SL-22")
def test_a_failure_and_a_process_that_dies_end_their_jobs_and_free_their_slots(pool: RunnerPool) -> None:
    pool.start("a", "prefork", slots=((),))
    pool.submit("bad", "fail")
    pool.submit("dead", "die")
    pool.submit("good")
    pool.ready("a")
    assert pool.reaches("good", "done").outcome == "succeeded"
    assert (pool.record("bad").outcome, pool.record("bad").result) == ("failed", "RuntimeError: as it was told")
    assert pool.record("dead").outcome == "failed"


@pytest.mark.row("SL-07", "SL-28")
def test_a_job_of_a_task_that_the_runner_does_not_have_fails(pool: RunnerPool) -> None:
    pool.start("a", "threads", slots=((),))
    pool.submit("wrong", "no-such-task")
    pool.submit("right")
    pool.ready("a")
    assert pool.reaches("right", "done").outcome == "succeeded"
    assert (pool.record("wrong").outcome, pool.record("wrong").result) == (
        "failed",
        "the runner has no task 'no-such-task'",
    )


@pytest.mark.row("SL-23")
def test_a_cancel_ends_the_process(pool: RunnerPool) -> None:
    pool.start("a", "prefork")
    pool.submit("j", seconds=60)
    pool.ready("a")
    eventually(lambda: "start j plan" in pool.diary(), 30)
    assert pool.ledger.cancel("j").state == "cancelling"
    assert pool.reaches("j", "done").outcome == "cancelled"
    assert pool.diary() == ["start j plan"]


@pytest.mark.row("SL-11")
def test_a_doubled_message_runs_once(pool: RunnerPool) -> None:
    pool.start("a", "threads")
    pool.ready("a")
    _, placed = pool.ledger.submit(job_of("j"))
    pool.dispatcher.dispatch(placed)
    pool.dispatcher.dispatch(placed)
    pool.reaches("j", "done")
    pool.submit("after")
    pool.reaches("after", "done")
    assert [line for line in pool.diary() if line.endswith("j plan")] == ["start j plan", "end j plan"]


@pytest.mark.row("SL-13")
def test_a_job_that_runs_while_redis_is_flushed_ends_once(pool: RunnerPool) -> None:
    pool.start("a", "prefork")
    pool.submit("j", seconds=4)
    pool.ready("a")
    eventually(lambda: "start j plan" in pool.diary(), 30)
    pool.redis.flushall()
    pool.ledger.begin(["uid-a"])
    pool.submit("j", seconds=4)
    eventually(lambda: pool.open("a"), 30)
    assert pool.reaches("j", "done").outcome == "succeeded"
    assert pool.diary() == ["end j plan"]


@pytest.mark.row("SL-22")
def test_a_killed_worker_that_comes_back_says_that_its_job_is_lost(pool: RunnerPool) -> None:
    runner = pool.start("a", "prefork")
    pool.submit("j", seconds=5)
    pool.ready("a")
    eventually(lambda: "start j plan" in pool.diary(), 30)
    runner.kill()
    runner.start()
    eventually(lambda: pool.record("j").attempt.endswith("-2"), 60)
    pool.dispatcher.dispatch(pool.ledger.sweep(DAY).placed)
    assert pool.reaches("j", "done", 60).outcome == "succeeded"
    assert pool.diary() == ["start j plan", "start j plan", "end j plan"]


@pytest.mark.row("SL-20", "SD-19")
def test_a_worker_that_is_told_to_end_lets_its_job_end(pool: RunnerPool) -> None:
    runner = pool.start("a", "prefork")
    pool.submit("j", seconds=3)
    pool.ready("a")
    eventually(lambda: "start j plan" in pool.diary(), 30)
    assert runner.process
    os.kill(runner.process.pid, signal.SIGTERM)
    assert runner.process.wait(40) == 0
    assert pool.record("j").outcome == "succeeded"


def test_of_a_pod_that_is_gone_the_broker_keeps_nothing(pool: RunnerPool) -> None:
    runner = pool.start("a", "threads", slots=((),))
    pool.submit("j")
    pool.ready("a")
    pool.reaches("j", "done")
    runner.kill()
    pool.submit("left")
    queue = queue_of(POOL, "a")
    assert {key.decode() for key in pool.redis.scan_iter(f"*{queue}*")} >= {queue, f"_kombu.binding.{queue}"}
    JobSender(pool.url, POOL).forget("a")
    assert list(pool.redis.scan_iter(f"*{queue}*")) == []
