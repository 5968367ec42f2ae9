"""What a pod's runner asks of the slot ledger of its pool. Every method is one script, and ends with placement.

What a method returns as `placed` must be sent to the pods' queues; what is lost on the way is sent again by the sweep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson
from redis import Redis

from berthmaster.errors import TransientError
from berthmaster.jobs.job import Job, Placed
from berthmaster.jobs.records import placed_of, request_of
from berthmaster.jobs.unreadable import readable
from berthmaster.redis.incarnation import INCARNATION, doubt_at_times
from berthmaster.redis.scripts import Script


class NotVerified(TransientError):  # noqa: N818 - an expected wait, said in the scripts' own word
    """Not every pod of the pool has reported since Redis was new: nothing is granted until then."""


Attempt = tuple[str, str, str, int]
"""Job, attempt, phase, number of the slot from 1."""
Ended = tuple[str, str, str, str, str]
"""Job, attempt, phase, outcome, result."""


@dataclass(frozen=True)
class Report:
    """Everything that a runner holds. `mark` and `grants` are those of the last answer that it got."""

    uid: str
    pod: str
    layout: tuple[str, ...]  # see slot_class
    mark: str = ""
    grants: int = 0
    running: tuple[Attempt, ...] = ()
    reserved: tuple[Attempt, ...] = ()
    ended: tuple[Ended, ...] = ()
    jobs: tuple[Job, ...] = ()  # of all these; may be left out when the mark is the one of the last answer
    asked: tuple[tuple[str, str], ...] = ()  # job and attempt of starts whose answer has not come

    def encoded(self) -> bytes:
        return orjson.dumps(
            {
                "uid": self.uid,
                "pod": self.pod,
                "layout": self.layout,
                "mark": self.mark,
                "grants": self.grants,
                "asked": self.asked,
                "running": self.running,
                "reserved": self.reserved,
                "ended": self.ended,
                "jobs": {job.id: request_of(job) for job in self.jobs},
            }
        )


@dataclass(frozen=True)
class Answer:
    """`accepted` False: the report was made for another incarnation, make a new one with this mark.

    `stop`: attempts that the runner must stop or forget. `acknowledged`: attempts whose outcome need not be repeated.
    """

    mark: str
    accepted: bool = False
    grants: int = 0
    view: str = ""
    stop: tuple[str, ...] = ()
    acknowledged: tuple[str, ...] = ()
    placed: tuple[Placed, ...] = ()


@dataclass(frozen=True)
class Started:
    """The number of its slot, and the attempt that was held there for it, if this is a later phase."""

    slot: int
    plan: str = ""


@dataclass(frozen=True)
class Change:
    """`state` after it; `taken` False: refused, it was not this attempt's or came too late."""

    taken: bool
    state: str = ""
    placed: tuple[Placed, ...] = ()


class RunnerLedger:
    """Of pod pool `pool` (namespace/name). Cheap to make: the scripts are shared."""

    def __init__(self, redis: Redis, scripts: dict[str, Script], pool: str) -> None:
        self.redis, self.pool, self.prefix, self._scripts = redis, pool, f"{{sp:{pool}}}", scripts

    def script(self, name: str) -> Script:
        return self._scripts[name]

    def report(self, report: Report) -> Answer:
        status, mark, *rest = self.call("report", report.encoded())
        if status == b"AGAIN":
            return Answer(mark.decode())
        grants, view, stop, acknowledged, placed = rest
        return Answer(
            mark.decode(),
            accepted=True,
            grants=int(grants),
            view=view.decode(),
            stop=texts_of(stop),
            acknowledged=texts_of(acknowledged),
            placed=placed_of(placed),
        )

    def start(self, job: str, phase: str, attempt: str, uid: str) -> Started | None:
        """None: refused."""
        status, *granted = self.call("start", job, phase, attempt, uid)
        return Started(int(granted[0]), granted[1].decode()) if status == b"OK" else None

    def finish(self, job: str, phase: str, attempt: str, outcome: str, result: str = "") -> Change:
        return change_of(self.call("finish", job, phase, attempt, outcome, result))

    def undo(self, job: str, attempt: str, wait: timedelta) -> tuple[int, tuple[Placed, ...]]:
        """The message could not be sent. How often that was so; -1: it is not this attempt any more."""
        status, *rest = self.call("undo", job, attempt, milliseconds(wait))
        return (int(rest[0]), placed_of(rest[1])) if status == b"OK" else (-1, ())

    def call(self, script: str, *args: Any) -> list[Any]:
        """Raises NotVerified, and UnreadableLedger when the script meets what none of ours has written."""
        with readable():
            reply: list[Any] = self._scripts[script]([self.prefix], (INCARNATION, *args))
        if reply[0] == b"NOT_READY":
            doubt_at_times(self.redis)
            raise NotVerified(f"the slots of pod pool {self.pool} are being verified")
        return reply


def milliseconds(length: timedelta) -> int:
    return length // timedelta(milliseconds=1)


@readable()
def texts_of(replies: Sequence[bytes]) -> tuple[str, ...]:
    return tuple(reply.decode() for reply in replies)


@readable()
def change_of(reply: list[Any]) -> Change:
    status, *rest = reply
    state = rest[0].decode() if rest else ""
    return Change(status == b"OK", state, placed_of(rest[1]) if len(rest) > 1 else ())
