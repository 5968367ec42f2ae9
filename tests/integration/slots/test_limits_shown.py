"""Time limits of jobs as clients, pools and earlier versions see them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from redis import Redis

from berthmaster.jobs.job import Job, Limit, PoolLimits
from berthmaster.jobs.messages import header_of, placed_of
from berthmaster.jobs.results import Results
from tests.support.jobs.slot_world import SlotWorld

pytestmark = pytest.mark.row("SD-34")
HOUR_MS = 3_600_000
MILLISECOND = timedelta(milliseconds=1)
OF_0_1 = {"phases", "serial_key", "priority", "hold_ms", "when_lost", "body"}
"""What a runner of the first version reads of a job."""


def test_results_say_which_limit_has_ended_a_job(world: SlotWorld) -> None:
    world.submit("queued", queue_ms=0)
    world.over_time()
    world.add("a", ("*", "*"))
    world.planned("reserved", hold_ms=0)
    world.submit("runs", run_ms=0)
    world.deliver_all()
    world.over_time()
    world.ended("a", world.only(), "cancelled")
    world.submit("plain")
    world.cancel("plain")
    results = Results(world.redis, world.ledger.pool).since("0", MILLISECOND)
    assert {result.job: (result.state, result.limit) for result in results} == {
        "queued": ("timed_out", Limit.QUEUE),
        "reserved": ("expired", Limit.RESERVATION),
        "runs": ("timed_out", Limit.RUN),
        "plain": ("cancelled", None),
    }


def test_a_job_has_the_limits_of_its_pool_unless_it_has_its_own(world: SlotWorld) -> None:
    hour = timedelta(hours=1)
    world.ledger.resize("1-a", None, 0, 9, 1, PoolLimits(hour, queue=2 * hour, run=3 * hour))
    world.submit("theirs", hold_ms=None)
    world.submit("own", hold_ms=None, run_ms=5, queue_ms=6)
    world.ledger.resize("2-a", None, 0, 9, 1, PoolLimits(hour))
    world.submit("free", hold_ms=None)
    records = [world.record(job) for job in ("theirs", "own", "free")]
    assert [(record.queue_ms, record.run_ms) for record in records] == [
        (2 * HOUR_MS, 3 * HOUR_MS),
        (6, 5),
        (None, None),
    ]
    assert set(world.deadlines()) == {"theirs", "own"}


def test_a_runner_of_an_earlier_version_reads_the_message_of_a_job_with_limits(world: SlotWorld) -> None:
    world.add("a", ("*", "*"))
    world.submit("plain")
    world.submit("limited", run_ms=5, queue_ms=HOUR_MS)
    plain, limited = (header_of(message) for message in world.wire)
    assert plain.keys() == {"id", "attempt", "uid", "phase", "job"}
    assert [header["job"].keys() for header in (plain, limited)] == [OF_0_1, OF_0_1]
    assert placed_of(limited).job.limits == {"run_ms": 5, "queue_ms": HOUR_MS}


def test_a_record_that_a_script_of_an_earlier_version_has_written_has_no_limits(world: SlotWorld, redis: Redis) -> None:
    """It leaves out what it does not know, and the deadline where it is: that ends nothing."""
    world.add("a", ("*",))
    world.submit("j", queue_ms=0)
    world.deliver_all()
    redis.zadd(f"{world.ledger.prefix}limits", {"j": 1})
    assert (world.over_time(), world.state("j"), world.deadlines()) == ({}, "running", {})


def test_a_job_without_limits_has_no_deadline(world: SlotWorld, redis: Redis) -> None:
    world.add("a", ("*",))
    world.submit("runs")
    world.submit("waits")
    world.deliver_all()
    assert not redis.exists(f"{world.ledger.prefix}limits")
    assert Job("j", ("plan",)).limits == {}
