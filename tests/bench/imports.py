"""What the import of the client costs: the time of a fresh process, in an environment that has only what it needs."""

from __future__ import annotations

import compileall
import statistics
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from tests.bench.measuring import Figure, Report, Tell, in_turns, ratio
from tests.support.wheels import bare_environment, bare_python, client_wheel

BUDGET = 150.0  # ms
PROGRAMS = {
    "redis": "import redis",
    "client": "import berthmaster.client",
    "fleet": "import berthmaster.client; berthmaster.client.Fleet('redis://127.0.0.1')",  # which connects to nothing
    "runner": "import berthmaster.runner",
}
TIMED = "import time; began = time.{clock}(); {program}; print(1000 * (time.{clock}() - began))"


def run(quick: bool, tell: Tell) -> Report:
    """The least of several turns counts for the budget: whatever else runs only adds to it."""
    with tempfile.TemporaryDirectory() as directory:
        folder = bare_environment(Path(directory) / "installed", client_wheel(Path(directory) / "wheel"), "runner")
        compileall.compile_dir(folder, quiet=2)  # as an installer does
        tell("installed")
        sides = {
            f"{name}, {clock}": partial(took, folder, program, clock)
            for name, program in PROGRAMS.items()
            for clock in ("perf_counter", "process_time")
        }
        times = in_turns(5 if quick else 15, sides)
    least = {side: min(values) for side, values in times.items()}
    figures = [
        Figure("import of the client", least["client, perf_counter"], "ms", at_most=BUDGET),
        Figure("CPU of it", least["client, process_time"], "ms"),
        Figure("CPU of redis-py alone", least["redis, process_time"], "ms", note="no import of the client is below it"),
        Figure("client / redis-py, by CPU", ratio(times["client, process_time"], times["redis, process_time"])),
        Figure("CPU of the client and a first Fleet", least["fleet, process_time"], "ms"),
        Figure("import of the runner", least["runner, perf_counter"], "ms", note="with Celery"),
        Figure("median of the client", statistics.median(times["client, perf_counter"]), "ms"),
    ]
    return Report("imports", tuple(figures), times)


def took(folder: Path, program: str, clock: str) -> float:
    """Milliseconds."""
    command = bare_python(folder, "-c", TIMED.format(program=program, clock=clock))
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
