"""End a process in time after a signal: by itself, or by force before a supervisor kills it.

Python runs a signal handler only between two steps of the main thread, and drops an exception of a handler that runs
inside a destructor. A signal that the kernel gives to another thread does not even wake a main thread that waits for a
lock. A thread therefore reads the signal from the interpreter's wakeup file, says that the process is to end, and ends
it by force if it still runs after its grace. The traceback of each thread then shows what it waited for.

The kernel drops a signal to the first process of a container unless that process has a handler for the signal. `hold`
blocks the signals over the start of another program, and `end_within` unblocks them.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
from collections.abc import Callable
from threading import Thread
from types import FrameType
from typing import Final, NoReturn

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
OVERDUE: Final = 1
"""The exit status of a process that was ended by force."""


def hold() -> None:
    """Block the signals until `end_within` is called, also over an exec."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)


def end_within(seconds: float, begin: Callable[[], None] = lambda: None) -> None:
    """Limit the time from the first signal to the end. Call it in the main thread, with handlers installed.

    `begin` is called in a thread of its own at the first signal, whatever the main thread waits for.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=_leave_alone)
    Thread(target=_watch, args=(reader, seconds, begin), name="grace", daemon=True).start()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def end_at_once(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Exit with status 0 at a signal; for a process that has nothing to lose."""
    os._exit(0)


def _leave_alone() -> None:
    """Detach a forked child from its parent's wakeup file."""
    signal.set_wakeup_fd(-1)


def _watch(reader: int, seconds: float, begin: Callable[[], None]) -> NoReturn:
    while not set(os.read(reader, 64)) & set(SIGNALS):
        pass
    begin()
    time.sleep(seconds)
    try:
        os.set_blocking(sys.stderr.fileno(), False)  # a reader that reads no more must not keep the process
        sys.stderr.write(f"still there {seconds:g} s after it was asked to end, with these threads:\n")
        sys.stderr.flush()
        faulthandler.dump_traceback()
    finally:
        os._exit(OVERDUE)
