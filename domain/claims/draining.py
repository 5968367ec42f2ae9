"""Decide when a pod that was given back becomes idle again: it drains, and then its workload reports no sessions.

A report counts only as the answer to the present drain (rule `ask`). The pod is asked only once no new session can
arrive (rule `settle`). A pod that never answers does not become idle: it is replaced after the longest time of a drain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TypeVar

PodT = TypeVar("PodT")


@dataclass(frozen=True)
class DrainWait:
    """Bounds of the time that a pod drains: at least `least`, at most `most`."""

    least: timedelta = timedelta(seconds=15)
    most: timedelta = timedelta(minutes=5)


class Next(StrEnum):
    """What happens next to a draining pod."""

    WAIT = "wait"
    ASK = "ask"  # publish the id of the drain
    IDLE = "idle"  # claims may have the pod again
    GO = "go"  # the pod terminates and is replaced


@dataclass(frozen=True)
class SessionReport:
    """How many sessions a pod has, as its workload reported. `drain` is the id of the drain that the report answers."""

    sessions: int
    drain: str


@dataclass(frozen=True)
class Drain:
    """The drain of one pod.

    Attributes:
        id: the id of the drain, None if the pod has no valid record of its drain.
        since: how long the pod has drained.
        asked: the drain id that was published to the pod, None if none was.
        report: the last report of the pod's workload, None if there is none.
        usable: the pod could serve another claim.

    """

    id: str | None
    since: timedelta
    asked: str | None = None
    report: SessionReport | None = None
    usable: bool = True

    @property
    def sessions(self) -> int | None:
        """The number of sessions in the last report, whichever drain it answers; None if there is no report."""
        return self.report.sessions if self.report else None

    @property
    def answered(self) -> bool:
        """Whether the workload has answered this drain: it has no sessions."""
        return self.id is not None and self.asked == self.id and self.report == SessionReport(0, self.id)


def next_of(drain: Drain, wait: DrainWait, recycle: bool) -> Next:
    """Return what happens next. Without `recycle` the pod is replaced, whatever it reports."""
    if not drain.usable:
        return Next.GO
    if drain.answered:
        return Next.IDLE if recycle else Next.GO
    if drain.since >= wait.most:
        return Next.GO
    if drain.since >= wait.least and drain.asked != drain.id:
        return Next.ASK
    return Next.WAIT


def due(drain: Drain, wait: DrainWait) -> timedelta:
    """Return the time until the drain must be observed again, whatever happens until then."""
    next_at = wait.most if drain.asked == drain.id else min(wait.least, wait.most)
    return max(timedelta(0), next_at - drain.since)


def in_order(drains: Iterable[tuple[PodT, Drain]]) -> list[tuple[PodT, Drain]]:
    """Sort drains: unusable pods first, then pods without sessions, then the others; the longest drain first."""
    return sorted(drains, key=lambda entry: (entry[1].usable, entry[1].sessions != 0, -entry[1].since))


def parse_report(text: str) -> SessionReport | None:
    """Parse a workload's report `NUMBER ID`. None for any other text."""
    number, _, drain = text.partition(" ")
    valid = re.fullmatch("[0-9]{1,9}", number) and drain
    return SessionReport(int(number), drain) if valid else None
