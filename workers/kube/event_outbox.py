"""Sends Kubernetes Events in a thread of its own: an Event is for people, so no run waits for one.

The queue is bounded, and a full one refuses: a slow API server must cost neither time nor memory. A process that ends
waits a moment for what is queued.
"""

from __future__ import annotations

import atexit
import time
from collections import deque
from collections.abc import Callable
from threading import Condition, Thread
from typing import Final
from weakref import WeakSet

import structlog

log = structlog.get_logger()
MOST: Final = 1000
"""Events that wait."""
THREADS: Final = 2
"""Requests at a time."""
PATIENCE: Final = 3.0
"""Seconds that a process that ends waits for its Events."""
Send = Callable[[], None]


class EventOutbox:
    """A queue of Events and the threads that send them, which start with the first one. Threads may share it."""

    def __init__(self, most: int = MOST) -> None:
        self._most, self._threads = most, 0
        self._changed, self._waiting, self._sending = Condition(), deque[Send](), 0
        OUTBOXES.add(self)

    def put(self, send: Send) -> bool:
        """Queue an Event; `send` writes it. Never waits. False: the queue is full, and the Event is dropped."""
        with self._changed:
            if len(self._waiting) >= self._most:
                return False
            self._waiting.append(send)
            self._changed.notify_all()
            if self._threads < min(THREADS, len(self._waiting) + self._sending):
                self._threads += 1
                Thread(target=self._work, name="events", daemon=True).start()
        return True

    def flush(self, seconds: float) -> bool:
        """Wait until everything is sent. False: it was not within that time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._sending, seconds)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting))
                send = self._waiting.popleft()
                self._sending += 1
            try:
                send()
            except Exception:  # the thread serves the next Event, whatever happens to this one
                log.exception("event_failed")
            finally:
                with self._changed:
                    self._sending -= 1
                    self._changed.notify_all()


OUTBOXES: Final = WeakSet[EventOutbox]()
"""Those of this process."""


def flush_all(seconds: float = PATIENCE) -> bool:
    """Wait until every outbox of this process is empty. False: one was not within that time."""
    deadline = time.monotonic() + seconds
    flushed = [outbox.flush(max(0.0, deadline - time.monotonic())) for outbox in list(OUTBOXES)]
    return all(flushed)


atexit.register(flush_all)
