"""The log of a running attempt: a thread writes what the task prints to Redis, a batch at a time.

Nothing here delays or fails a task. While Redis is away the latest lines are kept, as many as the log may have; lines
that were dropped show as a gap in the numbers. The end of an attempt waits a second for its last lines.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from berthmaster.jobs.runner_ledger import LogBatch
from berthmaster.logger import get_logger
from berthmaster.redis.refusals import warn

log = get_logger(__name__)
Append = Callable[[LogBatch], bool]
"""Appends a batch. False: the ledger does not take it now. Raises while Redis is away."""
LONGEST: Final = 4096
"""Characters of a line; the rest is cut."""
LARGEST: Final = 16 * 1024
"""Bytes of lines that are written at once; one line may have some more."""
FEWEST: Final = 2 * LARGEST
"""Fewest bytes that a log may be bounded to: the lines that are written at once and the end have room."""
TOGETHER: Final = 0.2
"""Seconds for which lines are collected before they are written, all of them in one round."""
AGAIN: Final = 1.0
"""Seconds until lines are written again that Redis did not take."""
AT_END: Final = 1.0
"""Seconds for which the end of an attempt waits for its last lines."""
AFTER_END: Final = 30
"""How often the last lines are then tried again."""


class PrintedLines:
    """Makes lines of pieces of text. A carriage return begins the line anew, as in a terminal."""

    def __init__(self) -> None:
        self._text, self._cut, self._returned = "", 0, False

    def feed(self, piece: str) -> list[str]:
        """Add a piece of text. Returns the lines that it has ended."""
        *ends, rest = piece.split("\n")
        lines = []
        for end in ends:
            self._grow(end)
            lines.append(self.flush())
        self._grow(rest)
        return lines

    def _grow(self, piece: str) -> None:
        shown = piece.rstrip("\r")
        if shown:
            _, returned, end = shown.rpartition("\r")
            if returned or self._returned:
                self._text, self._cut = "", 0
            text = self._text + end
            self._cut += max(0, len(text) - LONGEST)
            self._text, self._returned = text[:LONGEST], False
        self._returned = self._returned or shown != piece

    def flush(self) -> str:
        """Return the line, whether it has ended or not, and begin another one."""
        line = self._text
        if self._cut:
            line += f" [cut: the line had {len(line) + self._cut} characters]"
        self._text, self._cut, self._returned = "", 0, False
        return line

    def __bool__(self) -> bool:
        return bool(self._text)


class AttemptLog:
    """The log of one attempt. Threads of the task may write; `most`: how many bytes of lines are kept for Redis.

    Its thread begins with the first line, so that a task that prints nothing costs nothing.
    """

    def __init__(self, append: Append, most: int, prepare: Callable[[], object] = lambda: None) -> None:
        """`prepare` is called in the thread before it writes."""
        self._append, self._most, self._prepare = append, most, prepare
        self._process = os.getpid()
        self._lock = threading.RLock()  # a signal handler of the task may print while the task prints
        self._buffers: dict[str, PrintedLines] = {}
        self._lines: deque[bytes] = deque()
        self._bytes, self._last = 0, 0  # of the lines that wait; the number of the latest line
        self._batch: LogBatch | None = None  # that is being written
        self._ended, self._failed = False, False  # the last batch was made; the latest one was not accepted
        self._thread: threading.Thread | None = None
        self._over = threading.Event()

    def write(self, source: str, text: str) -> None:
        """Add text. Each `source` has lines of its own."""
        if os.getpid() != self._process:  # a fork of the task: nobody there may give the lock back
            return
        with self._lock:
            if self._over.is_set():  # a thread that outlives its attempt
                return
            for line in self._buffers.setdefault(source, PrintedLines()).feed(text):
                self._add(line)

    def close(self) -> None:
        """End the log. Waits a moment for the last lines; what cannot be written then is tried for a while."""
        with self._lock:
            for buffer in self._buffers.values():
                if buffer:
                    self._add(buffer.flush())
            thread = self._thread
        self._over.set()
        if thread:
            thread.join(AT_END)

    def _add(self, line: str) -> None:
        stored = line.encode(errors="replace")
        self._lines.append(stored)
        self._bytes += len(stored) + 1
        self._last += 1
        while self._bytes > self._most:
            self._bytes -= len(self._lines.popleft()) + 1
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="berthmaster-log", daemon=True)
            with suppress(RuntimeError):  # the system gives no more threads now
                thread.start()
                self._thread = thread

    def _run(self) -> None:
        self._prepare()
        tries = AFTER_END
        while tries:
            over = self._over.wait(TOGETHER)
            written = self._write_lines(over)
            if written and over:
                return
            if not written:
                tries -= over
                time.sleep(AGAIN)

    def _write_lines(self, over: bool) -> bool:
        """Write the lines that there are now; `over`: and the end. False: Redis has not taken all of it.

        Lines that are printed meanwhile wait for the next round: a batch for each would follow otherwise.
        """
        latest = self._last
        while batch := self._next_batch(over):
            try:
                accepted = self._append(batch)
            except Exception as error:  # noqa: BLE001 - whatever Redis answers, the task goes on
                if not self._failed:
                    warn(log, "log_not_written", error)
                accepted = False
            self._failed = not accepted
            if not accepted:
                return False
            self._batch = None
            if batch.last >= latest and not over:
                break
        return True

    def _next_batch(self, over: bool) -> LogBatch | None:
        """Return what to write next: the same batch until Redis has taken it. None: nothing."""
        with self._lock:
            if self._batch is None and (self._lines or (over and not self._ended)):
                first = self._last - len(self._lines) + 1
                lines, size = list[bytes](), 0
                while self._lines and (not lines or size + len(self._lines[0]) < LARGEST):
                    lines.append(self._lines.popleft())
                    size += len(lines[-1]) + 1
                self._bytes -= size
                self._ended = over and not self._lines
                self._batch = LogBatch(first, first + len(lines) - 1, b"\n".join(lines), self._ended)
            return self._batch
