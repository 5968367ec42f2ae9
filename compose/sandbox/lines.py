"""Show progress as plain lines for pipes and logs: only changes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Final, Protocol

from rich.console import Console

from compose.sandbox.picture import Notice, Picture

PERIOD: Final = 1.0
"""Seconds between two lines about pods."""


class ProgressReport(Protocol):
    """Shows people the progress of the sandbox. `close` may be called twice."""

    def step(self, what: str) -> None:
        """Show that a step is done."""

    def show(self, picture: Picture) -> None:
        """Show the cluster. Called a few times a second, so that the report may skip some pictures."""

    def catch_up(self) -> None:
        """Show the latest picture now: what is printed next is not older than the report."""

    def close(self) -> None:
        """End the report."""


class PlainLines:
    """A ProgressReport that prints lines."""

    def __init__(self, console: Console, started: float) -> None:
        """Begin a report. `started` as in `time.monotonic()`."""
        self.console, self.started = console, started
        self.latest, self.notices, self.at = dict[str, str](), 0, 0.0
        self.picture: Picture | None = None

    def step(self, what: str) -> None:
        """Print a step with the seconds since the start."""
        seconds = time.monotonic() - self.started
        self.console.print(f"{seconds:6.1f} s  {what}", soft_wrap=True)

    def show(self, picture: Picture) -> None:
        """Print what has changed, at most once a PERIOD."""
        self.picture = picture
        if time.monotonic() - self.at >= PERIOD:
            self.catch_up()

    def catch_up(self) -> None:
        """Print what has changed since the last lines."""
        picture = self.picture
        if picture is None:
            return
        self.at = time.monotonic()
        fresh, self.notices = picture.notices[self.notices :], len(picture.notices)
        for line in events(fresh):
            self.step(line)
        for about, line in (("pods", summary(picture)), ("jobs", jobs(picture)), ("claims", claims(picture))):
            if line != self.latest.get(about, ""):
                self.latest[about] = line
                self.step(line)

    def close(self) -> None:
        """Print what has changed since the last lines."""
        self.catch_up()


def events(notices: tuple[Notice, ...]) -> list[str]:
    """Return Events as lines: those of pools in full, those of pods as counts."""
    pods = Counter(notice.reason for notice in notices if notice.kind == "Pod")
    pools = [f"event: {notice.name} {notice.reason}: {notice.message}" for notice in notices if notice.kind != "Pod"]
    return [*pools, *(["events of pods: " + counted(pods)] if pods else [])]


def summary(picture: Picture) -> str:
    """Return the line about pods, load balancers and waiting pods."""
    balancers = ", ".join(f"{balancer.allocated}/{balancer.capacity}" for balancer in picture.pool.balancers) or "none"
    return f"pods: {counted(picture.states) or 'none'}; load balancers: {balancers}; waiting: {picture.pool.waiting}"


def jobs(picture: Picture) -> str:
    """Return the line about jobs, '' while there are none."""
    if not picture.jobs:
        return ""
    runners = picture.runners
    return f"jobs: {counted(picture.jobs)}; runner pods: {runners.present or 'none'}; {runners.slots_in_words}"


def claims(picture: Picture) -> str:
    """Return the line about claims, '' while there are none."""
    return f"claims: {counted(picture.phases)}" if picture.claims else ""


def counted(counts: Mapping[str, int]) -> str:
    """Return counts in words, sorted by name."""
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))
