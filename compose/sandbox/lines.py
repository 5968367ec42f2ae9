"""Progress as plain lines, for pipes and logs: each once, and only what changed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Final, Protocol

from rich.console import Console

from compose.sandbox.picture import Notice, Picture

PERIOD: Final = 1.0
"""Seconds between two lines about pods."""


class Report(Protocol):
    """How the sandbox tells what happens. `close` may be called twice."""

    def step(self, what: str) -> None:
        """Something is done, now."""

    def look(self, seen: Picture) -> None:
        """To be called a few times a second."""

    def close(self) -> None: ...


class Lines:
    def __init__(self, console: Console, started: float) -> None:
        """`started` as in `time.monotonic()`."""
        self.console, self.started = console, started
        self.told, self.notices, self.at = dict[str, str](), 0, 0.0

    def step(self, what: str) -> None:
        seconds = time.monotonic() - self.started
        self.console.print(f"{seconds:6.1f} s  {what}", soft_wrap=True)

    def look(self, seen: Picture) -> None:
        if time.monotonic() - self.at < PERIOD:
            return
        self.at = time.monotonic()
        fresh, self.notices = seen.notices[self.notices :], len(seen.notices)
        for line in events(fresh):
            self.step(line)
        for about, line in (("pods", summary(seen)), ("jobs", jobs(seen)), ("claims", claims(seen))):
            if line != self.told.get(about, ""):
                self.told[about] = line
                self.step(line)

    def close(self) -> None:
        pass


def events(notices: tuple[Notice, ...]) -> list[str]:
    """Those of pools in full, those of pods counted."""
    pods = Counter(notice.reason for notice in notices if notice.kind == "Pod")
    pools = [f"event: {each.name} {each.reason}: {each.message}" for each in notices if each.kind != "Pod"]
    return [*pools, *(["events of pods: " + counted(pods)] if pods else [])]


def summary(seen: Picture) -> str:
    balancers = ", ".join(f"{each.allocated}/{each.capacity}" for each in seen.pool.balancers) or "none"
    return f"pods: {counted(seen.states) or 'none'}; load balancers: {balancers}; waiting: {seen.pool.waiting}"


def jobs(seen: Picture) -> str:
    """'' before the first, and where there are none."""
    if not seen.jobs:
        return ""
    runners = seen.runners
    return f"jobs: {counted(seen.jobs)}; runner pods: {runners.present or 'none'}; {runners.told}"


def claims(seen: Picture) -> str:
    return f"claims: {counted(seen.phases)}" if seen.claims else ""


def counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))
