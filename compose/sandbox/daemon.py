"""Start, await and stop one server process.

Its output goes to a file. The end of that file is in the error when the process does not start, and a supervisor can
show it when the process ends too soon. The process leads a process group of its own: Ctrl-C in a terminal reaches the
supervisor alone, which stops everything in order. Stopping the process also stops the processes that it started.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from compose.sandbox.orphans import end_with_us

PATIENCE = 60.0
"""Seconds that a server has to answer; a busy machine of two cores takes 4 to 20."""


def answers(port: int) -> bool:
    """Return whether a server accepts connections at the loopback port."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


class Daemon:
    """A server process. It may be started again after it ended; the log continues."""

    def __init__(
        self, name: str, command: Sequence[str], directory: Path, env: Mapping[str, str] | None = None
    ) -> None:
        self.name, self.command, self.log = name, command, directory / f"{name}.log"
        self.env = {**os.environ, **(env or {})}
        self.process: subprocess.Popen[bytes] | None = None
        self.swept = False

    def start(self, ready: Callable[[], bool]) -> None:
        """Start the process and wait for `ready()`. Raises RuntimeError with its log if it ends or takes too long."""
        self.launch()
        self.await_ready(ready)

    def launch(self) -> None:
        """Start the process without waiting."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.swept = False
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, env=self.env, start_new_session=True)
        end_with_us(self.process)

    def await_ready(self, ready: Callable[[], bool]) -> None:
        """Wait for a launched process. Kills it and raises RuntimeError if it is not ready in time."""
        deadline = time.monotonic() + PATIENCE
        while not ready():
            if not self.running() or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"{self.name} did not start:\n{self.tail()}")
            time.sleep(0.02)

    def tail(self) -> str:
        """Return the last 2000 characters of the log."""
        return self.log.read_text(errors="replace")[-2000:]

    def running(self) -> bool:
        """Return whether the process was launched and has not ended."""
        return self.process is not None and self.process.poll() is None

    def ended(self) -> bool:
        """Return whether the process was launched and has ended."""
        return self.process is not None and self.process.poll() is not None

    def stop(self, patience: float = 15.0) -> None:
        """Send SIGTERM, then SIGKILL after `patience` seconds. Kill what a process that has ended left behind."""
        if not self.running():
            self.sweep()
            return
        assert self.process is not None
        self.process.terminate()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kill the process and those that it started."""
        if self.process is not None and self.running():
            self.sweep()
            self.process.wait()

    def sweep(self) -> None:
        """Kill the process group, once: later the id may belong to another group."""
        if self.process is not None and not self.swept:
            self.swept = True
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def pause(self) -> None:
        """Stop the process until `resume`; its connections stay open but get no answer."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue a paused process."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)
