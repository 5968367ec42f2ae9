"""Decide when a pod that was given back becomes idle again: it drains, and then reports that it has no sessions.

A report counts only as the answer to the present drain (rule `ask`). The pod is asked only once no new session can
arrive (rule `settle`). A pod that never answers does not become idle: it is replaced when its time is over.
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
class Drain:
    """The drain of one pod.

    Attributes:
        since: how long the pod has drained.
        asked: the drain id that was published to the pod, '' if none was.
        answers: the drain id that the pod's report answers, '' if there is no report.
        sessions: the number of sessions that the pod reported, -1 if there is no report.
        usable: the pod could serve another claim.

    """

    id: str
    since: timedelta
    asked: str = ""
    answers: str = ""
    sessions: int = -1
    usable: bool = True


def next_of(drain: Drain, wait: DrainWait, recycle: bool) -> Next:
    """Return what happens next. Without `recycle` the pod is replaced, whatever it reports."""
    if not drain.usable:
        return Next.GO
    answered = drain.id == drain.asked == drain.answers and drain.sessions == 0
    if answered:
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


def counted(report: str) -> tuple[int, str]:
    """Parse a workload's report `NUMBER ID`: its number of sessions, and the drain that it answers.

    Anything else is (-1, '').
    """
    number, _, drain = report.partition(" ")
    valid = re.fullmatch("[0-9]{1,9}", number) and drain
    return (int(number), drain) if valid else (-1, "")
