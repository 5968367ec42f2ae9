"""Threads that must not die unnoticed: an exception in a thread ends the process, which is then restarted."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

import structlog

log = structlog.get_logger(__name__)


class Supervisor:
    """Starts threads. `stop` asks all to end: set by a signal, or, with `failed`, by the death of a thread."""

    def __init__(self, stop: Event) -> None:
        self.stop, self.failed = stop, Event()

    def start(self, name: str, target: Callable[[], None]) -> Thread:
        """Start a daemon thread: a thread that waits for a silent peer must not keep the process alive."""
        thread = Thread(target=self.guard, args=(name, target), name=name, daemon=True)
        thread.start()
        return thread

    def guard(self, name: str, target: Callable[[], None]) -> None:
        """Run `target`; set `failed` and `stop` if it raises."""
        returned = False
        try:
            target()
            returned = True
        finally:
            if not returned:
                log.critical("thread_died", thread=name)  # threading prints the traceback
                self.failed.set()
                self.stop.set()
