"""A process that is asked to end, ends: by itself, or by force before somebody kills it.

A handler of Python's runs only between two steps of the main thread, and what it raises is lost where Python calls it
out of a destructor. So a thread of its own learns of the signal from the interpreter, and ends the process when it is
still there after its grace; the traceback of each thread says what it waited for.

The first process of a container does not even get a signal that it has no handler for. `hold` keeps SIGTERM back over
the start of another program, and `end_within` lets it in.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
from threading import Thread
from types import FrameType
from typing import Final, NoReturn

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
OVERDUE: Final = 1
"""The exit status of a process that was ended by force."""


def hold() -> None:
    """Signals wait until `end_within` is called, also over an exec."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)


def end_within(seconds: float) -> None:
    """From the first signal on. Call it in the main thread, with handlers in place: what was held back comes now."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=_leave_alone)
    Thread(target=_watch, args=(reader, seconds), name="grace", daemon=True).start()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def end_at_once(_signal: int, _frame: FrameType | None) -> NoReturn:
    """A handler for a process that has nothing to lose."""
    os._exit(0)


def _leave_alone() -> None:
    """A child's signals are its own."""
    signal.set_wakeup_fd(-1)


def _watch(reader: int, seconds: float) -> NoReturn:
    while not set(os.read(reader, 64)) & set(SIGNALS):
        pass
    time.sleep(seconds)
    sys.stderr.write(f"still there {seconds:g} s after it was asked to end, with these threads:\n")
    faulthandler.dump_traceback()
    os._exit(OVERDUE)
