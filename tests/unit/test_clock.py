"""The clock of a server as its replies show it, and the times of files under a wall clock that is set."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from berthmaster.clock import ServerClock, age, touch
from tests.support.faults.shifted_clock import ShiftedClock

LOOK = """
import sys
from pathlib import Path
from workers.telemetry.heartbeat import judge
for line in sys.stdin:
    print(judge(Path(line.strip()), lambda: True).alive, flush=True)
"""


def header(at: datetime) -> str:
    return format_datetime(at.replace(microsecond=0), usegmt=True)


@pytest.mark.row("TM-04")
@pytest.mark.parametrize("ahead", [0, 600, -600])
def test_the_time_of_a_server_is_known_to_a_second_whatever_this_machine_believes(ahead: int) -> None:
    clock, server = ServerClock(), datetime(2031, 5, 1, tzinfo=UTC) + timedelta(seconds=ahead)
    for tenth in range(1, 21):  # as if the server had answered at once, every tenth of a second
        asked = tenth / 10 + time.monotonic()
        clock.observe(header(server + timedelta(seconds=tenth / 10)), asked, asked)
    began = time.monotonic()
    shown = clock.now() - server
    assert timedelta(seconds=-1) <= shown <= timedelta(seconds=1 + time.monotonic() - began)


@pytest.mark.row("TM-04")
def test_a_server_whose_clock_is_set_back_is_followed(tmp_path: Path) -> None:
    del tmp_path
    clock, now = ServerClock(), datetime(2031, 5, 1, tzinfo=UTC)
    for at in (now, now - timedelta(hours=1)):
        asked = time.monotonic()
        clock.observe(header(at), asked, time.monotonic())
        assert abs(clock.now() - at) < timedelta(seconds=60)


@pytest.mark.parametrize("date", [None, "", "yesterday"])
def test_a_reply_without_a_date_says_nothing(date: str | None) -> None:
    clock = ServerClock()
    clock.observe(date, 0, 0)
    assert abs(clock.ahead()) < timedelta(seconds=60)


@pytest.mark.row("TM-04")
def test_a_probe_says_the_same_when_the_wall_clock_is_set(tmp_path: Path) -> None:
    clock, fresh, stale = ShiftedClock(tmp_path), tmp_path / "fresh", tmp_path / "stale"
    touch(fresh)
    command = [sys.executable, "-c", LOOK]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=clock.variables, text=True, stdin=pipe, stdout=pipe) as process:
        assert process.stdin
        assert process.stdout

        def alive(file: Path) -> str:
            assert process.stdout
            print(file, file=process.stdin, flush=True)
            return process.stdout.readline().strip()

        for seconds in (0, 3600, -3600):
            clock.move(seconds)
            touch(fresh)
            assert (alive(fresh), alive(stale)) == ("True", "False")
        process.stdin.close()


def test_a_file_of_another_boot_is_old(tmp_path: Path) -> None:
    file = tmp_path / "left"
    file.touch()  # its time is far ahead of a monotonic clock
    assert age(file) == float("inf")
    touch(file)
    assert 0 <= age(file) < 60
