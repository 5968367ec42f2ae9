"""What jobs did, written by themselves outside of every ledger: lines of one file, which outlives whoever wrote them.

A line is `time what job phase attempt uid slot`; what: start, effect (the end of its work), left (it was told to stop)
or killed (of a pod: its processes are dead). The clock is the machine's.
"""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

STEP = 0.05


@dataclass(frozen=True)
class Run:
    """One attempt on one slot of a pod."""

    job: str
    phase: str
    attempt: str
    uid: str
    slot: int


class Pen:
    """Appends; a line is written at once or not at all."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(self, what: str, run: Run) -> None:
        line = f"{time.monotonic_ns()} {what} {run.job} {run.phase} {run.attempt} {run.uid} {run.slot}\n"
        os.write(self._file, line.encode())

    def killed(self, uid: str) -> None:
        self.note("killed", Run("-", "-", "-", uid, 0))


def work(pen: Pen, run: Run, seconds: float, told_to_stop: Callable[[], bool] = bool) -> str:
    """What every job of a storm does."""
    pen.note("start", run)
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if told_to_stop():
            pen.note("left", run)
            raise SystemExit(1)
        time.sleep(min(STEP, left))
    pen.note("effect", run)
    return run.attempt


@dataclass
class Diary:
    """Read as it grows. `faults` are moments that must never be; `effects` in the order in which they came."""

    path: Path
    running: dict[str, Run] = field(default_factory=dict)  # by attempt
    effects: list[Run] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    starts: Counter[str] = field(default_factory=Counter)  # by attempt
    at: int = 0

    def read(self) -> None:
        with self.path.open("rb") as file:
            file.seek(self.at)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self.at += len(whole)
        for line in whole.decode().splitlines():
            _, what, job, phase, attempt, uid, slot = line.split()
            self._take(what, Run(job, phase, attempt, uid, int(slot)))

    def _take(self, what: str, run: Run) -> None:
        if what == "killed":
            self.running = {attempt: each for attempt, each in self.running.items() if each.uid != run.uid}
        elif what == "start":
            self._started(run)
        else:
            self.running.pop(run.attempt, None)
            if what == "effect":
                self.effects.append(run)

    def _started(self, run: Run) -> None:
        self.starts[run.attempt] += 1
        if self.starts[run.attempt] > 1:
            self.faults.append(f"{run} started twice")
        for other in self.running.values():
            if other.job == run.job:
                self.faults.append(f"two attempts of a job at once: {other} and {run}")
            if (other.uid, other.slot) == (run.uid, run.slot):
                self.faults.append(f"two jobs in a slot: {other} and {run}")
        self.running[run.attempt] = run

    def effects_of(self) -> dict[str, list[Run]]:
        """By `job phase`."""
        found: dict[str, list[Run]] = defaultdict(list)
        for run in self.effects:
            found[f"{run.job} {run.phase}"].append(run)
        return found
