"""Beat sends every task in time, whatever its wall clock does, and its heartbeat tells when it does not."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from celery import Celery
from celery.schedules import schedstate, schedule
from redis import Redis
from typer.testing import CliRunner

from berthmaster import routing
from berthmaster.clock import age
from berthmaster.redis.incarnation import connect
from compose.sandbox.redis_server import RedisServer
from tests.support.faults.shifted_clock import ShiftedClock
from tests.support.servers.celery_worker import CeleryProcess
from tests.support.waiting import eventually
from workers.celery_app.schedule import Schedule
from workers.cli.main import app
from workers.telemetry.heartbeat import of_beat

HOUR = 3600.0
LONG_AGO = 120.0  # seconds
SLOW, DESTROYS = "tests.support.faults.slow_destructor", "destroys"  # an application that is not for this process
SEVERAL = 30  # beat repeats a refused message five times
OFTEN = {routing.QUEUE_TICK: 1, routing.PORTS_SWEEP: 2, routing.SLOTS_SWEEP: 2}
SELDOM = (routing.PORTS_AUDIT, routing.PODPOOLS_AUTOSCALE)
PERIODS = {
    "BERTHMASTER_PORTS__SWEEP_EVERY": "2",
    "BERTHMASTER_SLOTS__SWEEP_EVERY": "2",
    "BERTHMASTER_PORTS__AUDIT_EVERY": "1h",
    "BERTHMASTER_SLOTS__AUTOSCALE_EVERY": "1h",
}


class Beat(CeleryProcess):
    """A beat with a clock of its own; nobody takes what it sends."""

    clock: ShiftedClock
    redis: Redis

    def sent(self, task: str) -> int:
        messages: Any = self.redis.lrange(routing.QUEUES[task], 0, -1)
        return sum(orjson.loads(message)["headers"]["task"] == task for message in messages)

    def probe(self, *options: str) -> int:
        return CliRunner().invoke(app, ["healthcheck", "beat", *options], env=self.settings()).exit_code


@pytest.fixture(scope="module")
def beat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beat]:
    directory = tmp_path_factory.mktemp("beat")
    server, clock = RedisServer(directory / "redis").start(), ShiftedClock(directory)
    variables = PERIODS | clock.variables
    beat = Beat("beat", "beat", directory, server.url, variables, application="workers.app")
    beat.clock, beat.redis = clock, connect(server.url)
    try:
        beat.start().ready()
        yield beat
    finally:
        beat.kill()
        beat.redis.close()
        server.kill()


@pytest.mark.row("TM-02")
def test_every_periodic_task_is_sent_once_when_beat_starts(beat: Beat) -> None:
    eventually(lambda: all(beat.sent(task) for task in (*OFTEN, *SELDOM)))
    assert [beat.sent(task) for task in SELDOM] == [1, 1]


@pytest.mark.row("TM-01")
@pytest.mark.parametrize("jump", [HOUR, 0.0, -HOUR], ids=["an-hour-ahead", "back-again", "an-hour-back"])
def test_a_beat_whose_clock_jumps_sends_every_task_in_time_and_no_more(beat: Beat, jump: float) -> None:
    eventually(lambda: all(beat.sent(task) for task in OFTEN))
    began, before = time.monotonic(), {task: beat.sent(task) for task in OFTEN}
    beat.clock.move(jump)
    eventually(lambda: all(beat.sent(task) >= before[task] + 3 for task in OFTEN), timeout=30)
    after = {task: beat.sent(task) for task in OFTEN}
    passed = time.monotonic() - began
    assert {task for task, period in OFTEN.items() if after[task] - before[task] > passed / period + 2} == set()
    assert [beat.sent(task) for task in SELDOM] == [1, 1]
    eventually(lambda: beat.probe() == 0)


@pytest.mark.row("TM-01")
def test_the_probe_fails_for_a_beat_whose_ticks_the_broker_does_not_take(beat: Beat) -> None:
    file = of_beat(beat.heartbeat_file)

    def refused() -> int:
        stats: Any = beat.redis.info("stats")
        return int(stats["total_error_replies"])

    def is_left_stale() -> bool:
        """Through several messages that the broker refuses, each some times over."""
        os.utime(file, (time.monotonic() - LONG_AGO,) * 2)
        refusals = refused() + SEVERAL
        eventually(lambda: refused() >= refusals, timeout=60)
        return age(file) >= LONG_AGO

    eventually(file.exists)
    beat.redis.config_set("maxmemory", 1)
    eventually(is_left_stale, timeout=60)
    assert beat.probe("--ready") == 1
    beat.redis.config_set("maxmemory", 0)
    eventually(lambda: beat.probe() == 0, timeout=30)


class Never(schedule):
    """What a fault of a schedule would be like."""

    def is_due(self, last_run_at: Any) -> schedstate:
        return schedstate(is_due=False, next=0.01)


@pytest.mark.row("TM-01")
def test_a_beat_that_leaves_one_task_out_has_no_heartbeat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTHMASTER_CLUSTER", "test")
    monkeypatch.setenv("BERTHMASTER_CELERY__HEARTBEAT_FILE", str(tmp_path / "heartbeat"))
    tasks: dict[str, Any] = {name: {"task": name, "schedule": 0.01} for name in ("first", "second")}

    def file_after_ticks(entries: dict[str, Any]) -> bool:
        celery: Celery[Any] = Celery(broker="memory://", set_as_current=False)
        celery.conf.beat_schedule = entries
        beat = Schedule(celery)
        while set(beat.late(time.monotonic())) != {"never"} & entries.keys():
            beat.tick()
        beat.tick()
        return of_beat(tmp_path / "heartbeat").exists()

    assert file_after_ticks(tasks)
    assert not file_after_ticks({**tasks, "never": {"task": "third", "schedule": Never(0.01)}})


@pytest.mark.row("TM-05")
def test_a_beat_that_a_signal_finds_in_a_destructor_ends(tmp_path: Path, server: RedisServer) -> None:
    options = ("--scheduler", f"{SLOW}:SlowSchedule")
    beat = CeleryProcess("beat", "slow", tmp_path, server.url, {}, options, SLOW).start()
    try:
        eventually(lambda: DESTROYS in beat.tail(), timeout=60)
        assert beat.terminate(15) == 0
    finally:
        beat.kill()
