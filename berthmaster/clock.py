"""The one module that reads this machine's wall clock, and the clock of a server as its replies show it.

The wall clock of a machine may be minutes off, and may be set while a process runs. So this machine's time is never
compared with a stamp that another machine wrote: a duration lies between two times of one server. Stamps in Kubernetes
are times of its API server, whose every reply has a Date header; stamps in Redis are times of Redis. Ruff forbids the
wall clock everywhere else.
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
    """What this machine believes. To be compared with nothing that another machine wrote."""
    return datetime.now(UTC)


def touch(file: Path) -> None:
    """Gives the file, which need not exist, the time of the monotonic clock, which all processes of a machine share."""
    with file.open("ab"):  # creates it and leaves its time alone
        now = time.monotonic()
    os.utime(file, (now, now))


def age(file: Path) -> float:
    """Seconds since `touch`; endless for a file that is missing, or that another boot of the machine left."""
    try:
        seconds = time.monotonic() - file.stat().st_mtime
    except FileNotFoundError:
        return float("inf")
    return seconds if seconds >= 0 else float("inf")


class ServerClock:
    """The time of a server, kept between its replies by our monotonic clock. Threads may share it.

    Each reply bounds the server's time to a second and the length of the request. The offset moves no further than
    into these bounds, so it becomes more exact with each reply, and follows a server whose clock is set.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._offset: float | None = None  # seconds from our monotonic clock to the server's time

    def observe(self, date: str | None, asked: float, answered: float) -> None:
        """`date` is the header of a reply; `asked` and `answered` are as in `time.monotonic()`."""
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
        """UTC. Before the first reply, or behind a proxy that strips the header, it is this machine's time."""
        offset = self._offset
        return wall_clock() if offset is None else datetime.fromtimestamp(time.monotonic() + offset, UTC)

    def ahead(self) -> timedelta:
        """How far the server is ahead of this machine."""
        return self.now() - wall_clock()
