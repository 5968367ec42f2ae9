"""The one module that reads this machine's wall clock; and ServerClock, the clock of a server as its replies show it.

The wall clock of a machine may be minutes off, and may be set while a process runs. So it is never compared with a
timestamp that another machine wrote: a duration lies between two times of one server. Timestamps in Kubernetes come
from the API server, whose every reply has a Date header. Timestamps in Redis come from Redis. Ruff forbids the wall
clock everywhere else.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from threading import Lock

RESOLUTION = 1.0  # seconds; a Date header is cut to whole seconds


def wall_clock() -> datetime:
    """Return this machine's time. Never compare it with what another machine wrote."""
    return datetime.now(UTC)


def touch(file: Path) -> None:
    """Set the file's time to the monotonic clock, which all processes of a machine share. Creates the file."""
    with file.open("ab"):  # creates it and leaves its time alone
        now = time.monotonic()
    os.utime(file, (now, now))


def age(file: Path) -> float:
    """Return the seconds since `touch`; infinite without a file, or with one of another boot of the machine."""
    try:
        seconds = time.monotonic() - file.stat().st_mtime
    except FileNotFoundError:
        return float("inf")
    return seconds if seconds >= 0 else float("inf")


class ServerClock:
    """The time of a server, carried on between its replies by our monotonic clock. Threads may share it.

    Each reply bounds the server's time to a second plus the length of the request. The offset moves only as far as
    these bounds require. So it becomes more exact with each reply, and follows a server whose clock is set.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._offset: float | None = None  # seconds from our monotonic clock to the server's time

    def observe(self, date: str | None, asked: float, answered: float) -> None:
        """Learn from a reply: `date` is its header; `asked` and `answered` are times of `time.monotonic()`."""
        try:
            stamp = parsedate_to_datetime(date).timestamp() if date else None
        except ValueError:
            return
        if stamp is not None:
            earliest, latest = stamp - answered, stamp + RESOLUTION - asked
            with self._lock:
                offset = earliest if self._offset is None else self._offset
                self._offset = min(max(offset, earliest), latest)

    def now(self) -> datetime:
        """Return the server's time in UTC; this machine's time before the first reply, or where a proxy strips the
        header.
        """
        offset = self._offset
        return wall_clock() if offset is None else datetime.fromtimestamp(time.monotonic() + offset, UTC)

    def ahead(self) -> timedelta:
        """Return how far the server is ahead of this machine."""
        return self.now() - wall_clock()
