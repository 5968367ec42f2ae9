"""The one thread that reads the fleet for all viewers, and only while somebody looks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import structlog

from workers.cli.troubles import in_words

log = structlog.get_logger()
Rows = Mapping[str, Any]
"""Id of a row -> what JSON can hold, never None."""
Changes = Mapping[str, Any]
"""Id of a row -> its new value, None for a row that is gone."""
PROBLEM: Final = "problem/redis"
LINGER: Final = 15.0
"""Seconds for which the thread goes on after somebody last looked."""
SHORTEST, LONGEST = 0.5, 1.5
SHARE: Final = 12
"""A pause is so many times as long as the reading before took of a processor: about eight percent of one core."""


class Reader:
    """Reads all rows again and again, and hands on what has changed."""

    def __init__(self, read: Callable[[], Rows], linger: float = LINGER) -> None:
        self._read, self._linger = read, linger
        self._rows: dict[str, Any] = {}
        self._wanted, self._until = threading.Event(), 0.0
        self._publish: Callable[[Changes], object] = lambda _: None
        self._thread: threading.Thread | None = None

    def want(self, publish: Callable[[Changes], object]) -> None:
        """Read for `linger` seconds from now on, once at least.

        Each reading is handed to `publish`, also one without changes.
        """
        self._publish, self._until = publish, time.monotonic() + self._linger
        self._wanted.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="fleet-reader", daemon=True)
            self._thread.start()

    @property
    def rests(self) -> bool:
        """Whether nobody looks."""
        return not self._wanted.is_set()

    def _run(self) -> None:
        while self._wanted.wait():
            cpu = time.thread_time()
            self._publish(self.changes())
            time.sleep(min(LONGEST, max(SHORTEST, SHARE * (time.thread_time() - cpu))))
            if time.monotonic() > self._until:
                self._wanted.clear()
                if time.monotonic() <= self._until:  # somebody has come meanwhile
                    self._wanted.set()

    def changes(self) -> Changes:
        """Read once. What cannot be read keeps its rows, and the problem is a row, too."""
        try:
            rows = dict(self._read())
        except Exception as error:  # noqa: BLE001 - the thread must outlive whatever Redis holds or answers
            log.warning("fleet_unread", error=str(error), kind=type(error).__name__)
            rows = self._rows | {PROBLEM: in_words(error)}
        before, self._rows = self._rows, rows
        changed = {name: value for name, value in rows.items() if before.get(name) != value}
        return changed | dict.fromkeys(before.keys() - rows.keys())
