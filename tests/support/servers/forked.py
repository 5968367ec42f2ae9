"""Processes that tests start as `python -m PROGRAM` would, without the seconds that importing libraries takes.

Each is a fork of a process that has imported libraries and none of our code, in one such process a session.
"""

from __future__ import annotations

import atexit
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Final, cast

from compose.sandbox.daemon import Daemon
from compose.sandbox.orphans import end_with_us
from compose.sandbox.stack import Stack
from tests.support.servers.nursery import LIBRARIES, Child, Nursery

READ_BY_LIBRARIES: Final = "PROMETHEUS_MULTIPROC_DIR"
"""While they are imported: a process that has it imports them itself."""
READ_BEFORE: Final = ("LD_PRELOAD", "REMAP_SIGTERM")
"""By the linker and by Celery's pools, before the child is forked: one process for each value of them."""


class Forked:
    """What tests use of subprocess.Popen."""

    def __init__(self, child: Child) -> None:
        self._child, self.pid = child, child.pid
        self.returncode: int | None = None
        self._lock = Lock()

    def poll(self) -> int | None:
        with self._lock:  # of a stack that stops, each process is waited for by a thread of its own
            if self.returncode is None and self._child.ended(0):
                self.returncode = self._child.status()
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Raises subprocess.TimeoutExpired."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if deadline and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            time.sleep(0.005)
        return status

    def send_signal(self, number: int) -> None:
        with self._lock:
            if self.returncode is None:
                self._child.signal(number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@cache
def nursery(variables: tuple[tuple[str, str], ...]) -> Nursery:
    """One for the values of what is read before its children are forked; it ends with this process."""
    made = Nursery(dict(variables), LIBRARIES)
    atexit.register(made.close)
    return made


def start(arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
    """`python -m ARGUMENTS` with this whole environment, which leads a session and ends with this process."""
    if READ_BY_LIBRARIES in environment:
        command = [sys.executable, "-m", *arguments]
        with log.open("ab") as file:
            process = subprocess.Popen(command, env=environment, stdout=file, stderr=file, start_new_session=True)
    else:
        variables = tuple((name, environment[name]) for name in READ_BEFORE if name in environment)
        child = nursery(variables).start(arguments, environment, log)
        process = cast("subprocess.Popen[bytes]", Forked(child))
    end_with_us(process)
    return process


class ForkedDaemon(Daemon):
    """A Daemon whose command is `python -m ...`."""

    def __init__(self, like: Daemon) -> None:
        super().__init__(like.name, like.command, like.log.parent)
        self.env = like.env

    def launch(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.swept = False
        self.process = start(self.command[2:], self.env, self.log)


class ForkedStack(Stack):
    """A Stack whose Python processes are forked."""

    def daemon(self, name: str, arguments: Iterable[str], **more: str) -> Daemon:
        return ForkedDaemon(super().daemon(name, arguments, **more))

    def kubelet_daemon(self) -> Daemon:
        return ForkedDaemon(super().kubelet_daemon())
