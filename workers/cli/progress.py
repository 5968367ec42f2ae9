"""Report the progress of a long command on standard error, so that a slow account does not look like a hang."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from threading import Event, Thread
from types import TracebackType
from typing import Final, Self

FIRST: Final = 2.0
"""Seconds before the first report."""
EVERY: Final = 5.0
"""Seconds between two reports."""


class Progress:
    """A context manager that reports. `count` runs in its thread and returns what has been done so far."""

    def __init__(self, command: str, count: Callable[[], str]) -> None:
        self._command, self._count, self._what = command, count, "starting"
        self._began, self._ended = time.monotonic(), Event()
        self._thread = Thread(target=self._tell, name="progress", daemon=True)

    def at(self, what: str) -> None:
        """Set what the command is doing now."""
        self._what = what

    def _tell(self) -> None:
        pause = FIRST
        while not self._ended.wait(pause):
            pause = EVERY
            seconds = time.monotonic() - self._began
            sys.stderr.write(f"{self._command}: {self._what}; {self._count()} in {seconds:.0f} s\n")
            sys.stderr.flush()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()
