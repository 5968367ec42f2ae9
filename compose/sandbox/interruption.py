"""Ctrl-C and SIGTERM end the sandbox between two steps, never in the middle of one.

An exception from a signal handler could be raised between the start of a process and the note of its id, and that
process would stay behind.
"""

from __future__ import annotations

import signal
import time
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CHECK_EVERY = 0.1  # seconds


class Interrupted(Exception):  # noqa: N818 - says what happened
    """A signal asked the sandbox to end. `status` is the exit status that a shell expects for it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


class Interruption:
    """Notes the first signal, for a check between two steps."""

    def __init__(self) -> None:
        self.number = 0

    def listen(self) -> None:
        """Install the signal handlers."""
        for number in SIGNALS:
            signal.signal(number, self.note)

    def note(self, number: int, _frame: Any) -> None:
        """Note a signal; the first one counts."""
        self.number = self.number or number

    def check(self) -> None:
        """Raise Interrupted if a signal has arrived."""
        if self.number:
            raise Interrupted(self.number)

    def sleep(self, seconds: float) -> None:
        """Sleep. Raises Interrupted within CHECK_EVERY seconds of a signal."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.check()
            time.sleep(min(CHECK_EVERY, left))
        self.check()
