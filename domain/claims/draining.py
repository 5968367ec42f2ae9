"""How a pod that was given back becomes free again: it drains, says that it has no sessions, and is handed out again.

What a pod says counts only as the answer to this drain (rule `ask`), and the question is put only once no new
session can come ('settle'). A pod that never answers is not idle: when the time is over it goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TypeVar

X = TypeVar("X")


@dataclass(frozen=True)
class DrainWait:
    """How long a pod that is given back takes: at least `least`, at most `most`."""

    least: timedelta = timedelta(seconds=15)
    most: timedelta = timedelta(minutes=5)


class Next(StrEnum):
    WAIT = "wait"
    ASK = "ask"  # publish the id of the drain
    IDLE = "idle"
    GO = "go"  # terminating: it is replaced


@dataclass(frozen=True)
class Drain:
    """`since` it drains. `asked`: the question that was published; `answers`: the id of the report; '' for none."""

    id: str
    since: timedelta
    asked: str = ""
    answers: str = ""
    sessions: int = -1
    usable: bool = True


def next_of(drain: Drain, wait: DrainWait, recycle: bool) -> Next:
    """`recycle` False: whatever it says, it is not handed out again."""
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
    """When to look again, whatever happens until then."""
    next_at = wait.most if drain.asked == drain.id else min(wait.least, wait.most)
    return max(timedelta(0), next_at - drain.since)


def in_order(drains: Iterable[tuple[X, Drain]]) -> list[tuple[X, Drain]]:
    """Those that are of no use first, then those without sessions, then the others, the oldest first."""
    return sorted(drains, key=lambda each: (each[1].usable, each[1].sessions != 0, -each[1].since))


def counted(told: str) -> tuple[int, str]:
    """`NUMBER ID` as a workload says it: how many sessions, for which drain. What is no such thing counts nothing."""
    number, _, drain = told.partition(" ")
    said = re.fullmatch("[0-9]{1,9}", number) and drain
    return (int(number), drain) if said else (-1, "")
