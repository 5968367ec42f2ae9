"""The sandbox as a process of its own, as users start it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import psutil

from compose.sandbox.environment import MARK
from compose.sandbox.orphans import end_with_us
from tests.support.waiting import eventually


@dataclass(frozen=True)
class Ended:
    status: int
    output: str
    said: str  # on standard error

    @property
    def summary(self) -> dict[str, Any]:
        """What `--json` printed: nothing else may be there."""
        return dict(orjson.loads(self.output))


class SandboxProcess:
    """Runs in `directory`, where its logs stay."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self.directory = directory / "sandbox"
        self.output, self.said = directory / "output", directory / "said"
        command = [sys.executable, "-m", "compose.sandbox", *arguments, "--dir", str(self.directory)]
        with self.output.open("w") as output, self.said.open("w") as said:
            environment = {**os.environ, "COLUMNS": "200"}
            self.process = subprocess.Popen(command, stdout=output, stderr=said, env=environment)
        end_with_us(self.process)

    def says(self, words: str, timeout: float = 240) -> None:
        """Waits until it has said so."""
        eventually(lambda: words in self.output.read_text() + self.said.read_text() or not self.running(), timeout)
        assert words in self.output.read_text() + self.said.read_text(), self.said.read_text()

    def running(self) -> bool:
        return self.process.poll() is None

    def end(self, timeout: float = 240) -> Ended:
        """Waits for its end."""
        return Ended(self.process.wait(timeout), self.output.read_text(), self.said.read_text())

    def members(self) -> list[psutil.Process]:
        """Every process that belongs to it, itself left out."""
        return [process for process in psutil.process_iter() if self.owns(process)]

    def owns(self, process: psutil.Process) -> bool:
        """By its arguments, its environment or (Redis writes over both) where it runs."""
        try:
            named = any(str(self.directory) in word for word in [*process.cmdline(), process.cwd()])
            marked = process.environ().get(MARK) == str(self.directory)
        except (psutil.NoSuchProcess, psutil.ZombieProcess, psutil.AccessDenied):
            return False
        return process.pid not in (self.process.pid, os.getpid()) and (named or marked)


@contextmanager
def sandbox(directory: Path, *arguments: str) -> Iterator[SandboxProcess]:
    """Whatever happens in the test, nothing of it stays."""
    started = SandboxProcess(directory, *arguments)
    try:
        yield started
    finally:
        if started.running():
            started.process.kill()
        started.process.wait()
        while left := started.members():  # one of them may start another meanwhile
            for process in left:
                with_patience(process)


def with_patience(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return
