"""The harness that moves the clock of a process moves its wall clock, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from berthmaster.clock import wall_clock
from tests.support.faults.shifted_clock import ShiftedClock

CLOCKS = f"print(time.time(), {wall_clock.__name__}().timestamp(), time.monotonic(), flush=True)"
LOOP = (
    f"import sys, time\nfrom {wall_clock.__module__} import {wall_clock.__name__}\nfor _ in sys.stdin: exec({CLOCKS!r})"
)


@pytest.mark.row("TM-01", "TM-04")
@pytest.mark.parametrize("seconds", [3600, -3600])
def test_the_clock_of_a_running_process_moves_and_its_monotonic_clock_does_not(tmp_path: Path, seconds: float) -> None:
    clock = ShiftedClock(tmp_path)
    command = [sys.executable, "-c", LOOP]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env={**os.environ, **clock.variables}, stdin=pipe, stdout=pipe, text=True
    ) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin
        assert stdout

        def read() -> list[float]:
            print("look", file=stdin, flush=True)
            return [float(part) for part in stdout.readline().split()]

        before = read()
        clock.move(seconds)
        after = read()
        stdin.close()
    monotonic = after[2] - before[2]
    assert monotonic >= 0
    for wall in (0, 1):
        assert after[wall] - before[wall] - monotonic == pytest.approx(
            seconds, abs=60
        )  # between two reads a busy machine may pause
