"""A file that is fresh while a worker consumes, or beat ticks, and the verdict that a probe reads from it.

A worker has been seen alive by every other measure (process there, answers to pings) and yet deaf after a reconnect.
So the file is touched from the event loop that consumes, only while it really reads from the broker and no task is
stuck. A restart mends no broker: while Redis is away the worker counts as alive, and for a minute after it is back.

A Redis that refuses writes answers all the same, and a worker that reads from it does nothing. So the probe asks Redis
itself: not ready while it refuses, dead when it has refused for five minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

FRESH = 60.0  # seconds
LONGEST_REFUSAL = 300.0  # seconds
OUTAGE_SUFFIX = ".outage"
REFUSED_SUFFIX = ".refused"


class Verdict(NamedTuple):
    alive: bool
    ready: bool
    reason: str


def of_beat(file: Path) -> Path:
    """Beat's own, beside the file of a worker, which may run on the same machine."""
    return file.with_name(f"{file.name}.beat")


def beat(file: Path) -> None:
    file.touch()


def judge(file: Path, broker_answers: Callable[[], bool], now: float, refusal: str | None = None) -> Verdict:
    """`now` as in `time.time()`. `broker_answers` is asked only if the file is stale. `refusal`: why Redis takes no
    writes now, None if it does.
    """
    refused = file.with_name(file.name + REFUSED_SUFFIX)
    if refusal:
        if not refused.exists():
            refused.touch()
        file.with_name(file.name + OUTAGE_SUFFIX).touch()
        lasts = _age(refused, now)
        return Verdict(alive=lasts <= LONGEST_REFUSAL, ready=False, reason=f"refused for {lasts:.0f} s: {refusal}")
    refused.unlink(missing_ok=True)
    if (age := _age(file, now)) <= FRESH:
        return Verdict(alive=True, ready=True, reason=f"consumed {age:.0f} s ago")
    outage = file.with_name(file.name + OUTAGE_SUFFIX)
    if not broker_answers():
        outage.touch()
        return Verdict(alive=True, ready=False, reason="the broker does not answer")
    if (since := _age(outage, now)) <= FRESH:
        return Verdict(alive=True, ready=False, reason=f"the broker has been back for less than {since:.0f} s")
    return Verdict(alive=False, ready=False, reason=f"has not consumed for {age:.0f} s though the broker answers")


def forget(file: Path) -> None:
    """What an earlier process left says nothing of this one."""
    for suffix in ("", OUTAGE_SUFFIX, REFUSED_SUFFIX):
        file.with_name(file.name + suffix).unlink(missing_ok=True)


def _age(file: Path, now: float) -> float:
    try:
        return max(now - file.stat().st_mtime, 0.0)
    except FileNotFoundError:
        return float("inf")
