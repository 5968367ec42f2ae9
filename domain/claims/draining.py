"""How a pod that was given back becomes free again: it drains, says that it has no sessions, and is handed out again.

What a pod says counts only as the answer to this drain (protocols.md, 'ask'), and the question is put only once no new
session can come ('settle'). A pod that never answers is not idle: when the time is over it goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


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
