"""Ctrl-C and SIGTERM end the sandbox at the next look, not in the middle of a step.

An exception out of a signal handler could strike between the start of a process and the note of its id: that process
would stay behind.
"""

from __future__ import annotations

import signal
import time
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CHECK_EVERY = 0.1  # seconds


class Interrupted(Exception):  # noqa: N818 - says what happened
    """Somebody asked to end. `status` is what a shell expects for the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


class Interruption:
    def __init__(self) -> None:
        self.number = 0

    def listen(self) -> None:
        for number in SIGNALS:
            signal.signal(number, self.note)

    def note(self, number: int, _frame: Any) -> None:
        self.number = self.number or number

    def check(self) -> None:
        """Raises Interrupted."""
        if self.number:
            raise Interrupted(self.number)

    def sleep(self, seconds: float) -> None:
        """Raises Interrupted, soon after the signal."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.check()
            time.sleep(min(CHECK_EVERY, left))
        self.check()
