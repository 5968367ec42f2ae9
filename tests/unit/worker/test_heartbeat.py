"""The verdict about a worker, from its heartbeat file and the broker."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from workers.telemetry.heartbeat import Liveness, beat, forget, judge


def answers() -> bool:
    return True


def is_away() -> bool:
    return False


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "heartbeat"


def aged(file: Path, seconds: float) -> Path:
    file.touch()
    os.utime(file, (time.monotonic() - seconds,) * 2)
    return file


def judged(file: Path, broker: bool = True, refusal: str | None = None) -> Liveness:
    return judge(file, answers if broker else is_away, refusal=refusal)


@pytest.mark.row("EV-16")
def test_a_worker_that_consumed_lately_is_alive_and_ready(file: Path) -> None:
    assert judged(aged(file, 10))[:2] == (True, True)


@pytest.mark.row("EV-16")
def test_a_worker_that_is_deaf_to_a_broker_that_answers_is_dead(file: Path) -> None:
    assert judged(aged(file, 61))[:2] == (False, False)
    assert judged(file.with_name("never written"))[:2] == (False, False)


@pytest.mark.row("TM-01")
def test_a_file_from_before_the_clock_was_set_back_does_not_keep_a_worker_alive(file: Path) -> None:
    assert judged(aged(file, -3600))[:2] == (False, False)


@pytest.mark.row("EV-16")
def test_while_the_broker_is_away_a_worker_is_alive_but_not_ready(file: Path) -> None:
    assert judged(aged(file, 3600), broker=False)[:2] == (True, False)


@pytest.mark.row("RD-22", "EV-16")
def test_a_worker_is_not_ready_while_redis_refuses_and_dead_after_five_minutes_of_it(file: Path) -> None:
    refused = file.with_name("heartbeat.refused")
    aged(file, 1)
    assert judged(file, refusal="OOM")[:2] == (True, False)
    for age, alive in ((299, True), (301, False)):
        aged(refused, age)
        assert judged(file, refusal="OOM") == (alive, False, f"refused for {age} s: OOM")
    assert judged(file)[:2] == (True, True)
    assert not refused.exists()


@pytest.mark.row("EV-16")
def test_a_worker_has_a_minute_after_the_broker_is_back(file: Path) -> None:
    aged(file, 3600)
    judged(file, broker=False)
    outage = file.with_name("heartbeat.outage")
    aged(outage, 59)
    assert judged(file)[:2] == (True, False)
    aged(outage, 61)
    assert judged(file)[:2] == (False, False)


def test_what_an_earlier_process_left_is_forgotten(file: Path) -> None:
    aged(file, 1)
    judged(aged(file, 3600), broker=False)
    forget(file)
    assert list(file.parent.iterdir()) == []
    beat(file)
    assert file.exists()
