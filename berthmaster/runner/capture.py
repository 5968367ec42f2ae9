"""Gives an attempt's log what its task prints and logs: sys.stdout, sys.stderr and `logging`, by context.

Output goes where it went before as well. In a pool of threads the lines of a task are those of its own thread and
context. A process of a prefork pool runs one task at a time, so there all threads count, also one that an earlier task
has left. What a child process writes itself, and what is written to the file descriptors, does not pass through here.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Final

from berthmaster.runner.log import AttemptLog

OF_TASKS: Final = "celery.task"
"""The parent of loggers that `get_task_logger` returns. Celery lets it hand nothing on to the root."""
LOGGERS: Final = (logging.getLogger(), logging.getLogger(OF_TASKS))
_present: ContextVar[AttemptLog | None] = ContextVar("log")


class OutputCapture:
    """The streams and the handler of this process. The handler stands in place while an attempt runs."""

    def __init__(self) -> None:
        self._lock, self._running = threading.Lock(), 0
        self._handler = LogHandler(self)
        self._parent, self._alone = os.getpid(), False
        self._of_process: AttemptLog | None = None

    def own_process(self, **_: Any) -> None:
        """Count the lines of all threads if this is a forked process, which runs one task at a time.

        A receiver of Celery's signal that a process of a pool begins. A pool without processes sends it as well.
        """
        self._alone = os.getpid() != self._parent

    def mute(self) -> None:
        """Count nothing that this thread prints."""
        _present.set(None)

    @property
    def log(self) -> AttemptLog | None:
        """The log of whatever runs here."""
        return _present.get(self._of_process)

    @contextmanager
    def to(self, log: AttemptLog) -> Iterator[None]:
        """Write what is printed and logged to a log, and the traceback of an error at the end."""
        token = _present.set(log)
        self._enter(log)
        try:
            yield
        except Exception:
            with suppress(Exception):
                log.write("error", traceback.format_exc())
            raise
        finally:
            _present.reset(token)
            self._leave()

    def _enter(self, log: AttemptLog) -> None:
        with self._lock:
            self._running += 1
            self._of_process = log if self._alone else None
            for name in ("stdout", "stderr"):
                with suppress(Exception):  # whatever an application has put there
                    self._cover(name)
            for logger in LOGGERS:  # each time: a task that configures logging removes all handlers
                if logger.parent is None or not logger.propagate:
                    logger.addHandler(self._handler)

    def _cover(self, name: str) -> None:
        stream = getattr(sys, name)  # None where the process has no such file
        if stream is not None and not self.covers(stream):
            setattr(sys, name, Tee(self, name, stream))

    def _leave(self) -> None:
        with self._lock:
            self._running -= 1
            self._of_process = None
            if self._running:
                return
            for logger in LOGGERS:
                logger.removeHandler(self._handler)

    def covers(self, stream: Any, depth: int = 5) -> bool:
        """Return whether what is written to the stream comes by here: a `Tee`, or what somebody has wrapped around one.

        `depth`: how many wrappers are looked into.
        """
        if isinstance(stream, Tee):
            return stream.capture is self
        parts = tuple(getattr(stream, "__dict__", {}).values()) if depth else ()
        return any(self.covers(part, depth - 1) for part in parts if hasattr(type(part), "write"))


class LogHandler(logging.Handler):
    """Writes records to the log of whatever runs: level, logger and message, and the traceback if there is one."""

    def __init__(self, capture: OutputCapture) -> None:
        super().__init__()
        self._capture = capture
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, unless it is printed. One that cannot be formatted is reported by the other handlers."""
        log, others = self._capture.log, tuple(self._others(record))
        if log:
            with suppress(Exception):
                if not any(self._prints(handler, record) for handler in others):
                    log.write("logging", f"{self.format(record)}\n")
        if not others:
            self._resort(record)

    def _others(self, record: logging.LogRecord) -> Iterator[logging.Handler]:
        """Yield who gets the record beside this one."""
        logger: logging.Logger | None = logging.getLogger(record.name)
        while logger:
            yield from (handler for handler in logger.handlers if handler is not self)
            logger = logger.parent if logger.propagate else None

    def _prints(self, handler: logging.Handler, record: logging.LogRecord) -> bool:
        """Return whether the handler certainly writes the record to a stream that comes by here."""
        certain = record.levelno >= handler.level and not handler.filters
        return certain and isinstance(handler, logging.StreamHandler) and self._capture.covers(handler.stream)

    def _resort(self, record: logging.LogRecord) -> None:
        """Do what `logging` does with a record that nobody gets: with this handler somebody does."""
        last = logging.lastResort
        if last and record.levelno >= last.level:
            counted = _present.set(None)  # it is in the log
            try:
                last.handle(record)
            finally:
                _present.reset(counted)


class Tee:
    """A stream that also writes to the log of whatever runs, if anything does. It has all that the stream has.

    It stays in place: tasks and libraries keep sys.stdout, or wrap it. `name`: stdout or stderr.
    """

    def __init__(self, capture: OutputCapture, name: str, stream: Any) -> None:
        self.capture, self.name, self.stream = capture, name, stream

    def write(self, text: str) -> int:
        """Write to both. Returns what the stream returns."""
        log = self.capture.log
        if log:
            with suppress(Exception):
                log.write(self.name, text)
        counted = _present.set(None)  # the stream may log the text, or print it again
        try:
            return int(self.stream.write(text) or 0)
        finally:
            _present.reset(counted)

    def writelines(self, lines: Any) -> None:
        """Write each of the lines to both."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


CAPTURE: Final = OutputCapture()
