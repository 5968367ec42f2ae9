"""A file that is fresh while a worker consumes, or beat ticks, and the verdict that a probe draws from it.

A worker can look alive by any other measure (the process exists, it answers pings) and still be deaf after a reconnect.
So the event loop that consumes touches the file, only while it really reads from the broker and no task is stuck. The
file's time is the monotonic clock's, so that setting the wall clock makes it neither fresh nor stale. A restart repairs
no broker: while Redis is away the worker counts as alive, and for a minute after that.

A Redis that refuses writes still answers, and a worker that reads from it does nothing. So the probe asks Redis itself:
not ready while it refuses, dead when it has refused for five minutes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from berthmaster.clock import age, touch

FRESH = 60.0  # seconds
LONGEST_REFUSAL = 300.0  # seconds
OUTAGE_SUFFIX = ".outage"
REFUSED_SUFFIX = ".refused"
_beaten = [time.monotonic()]


class Liveness(NamedTuple):
    """The answer to a probe of a worker or beat."""

    alive: bool
    ready: bool
    reason: str


def of_beat(file: Path) -> Path:
    """Return beat's file, beside that of a worker, which may run on the same machine."""
    return file.with_name(f"{file.name}.beat")


def beat(file: Path) -> None:
    """Record that this process has worked just now."""
    touch(file)
    _beaten[:] = [time.monotonic()]


def silence() -> float:
    """Return the seconds since this process beat last, or started."""
    return time.monotonic() - _beaten[0]


def judge(
    file: Path, broker_answers: Callable[[], bool], did: str = "consumed", refusal: str | None = None
) -> Liveness:
    """Judge the file. `broker_answers` is called only if the file is stale.

    `did` is what the file proves; `refusal`: why Redis takes no writes now, None if it takes them.
    """
    since = file.with_name(file.name + REFUSED_SUFFIX)
    if refusal:
        if age(since) == float("inf"):
            touch(since)
        touch(file.with_name(file.name + OUTAGE_SUFFIX))
        lasts = age(since)
        return Liveness(alive=lasts <= LONGEST_REFUSAL, ready=False, reason=f"refused for {lasts:.0f} s: {refusal}")
    since.unlink(missing_ok=True)
    if (silent := age(file)) <= FRESH:
        return Liveness(alive=True, ready=True, reason=f"{did} {silent:.0f} s ago")
    outage = file.with_name(file.name + OUTAGE_SUFFIX)
    if not broker_answers():
        touch(outage)
        return Liveness(alive=True, ready=False, reason="the broker does not answer")
    if (back := age(outage)) <= FRESH:
        return Liveness(alive=True, ready=False, reason=f"the broker has been back for less than {back:.0f} s")
    return Liveness(alive=False, ready=False, reason=f"has not {did} for {silent:.0f} s though the broker answers")


def forget(file: Path) -> None:
    """Remove the files of an earlier process, which say nothing of this one."""
    for suffix in ("", OUTAGE_SUFFIX, REFUSED_SUFFIX):
        file.with_name(file.name + suffix).unlink(missing_ok=True)
