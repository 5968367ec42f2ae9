"""The requests of a pod's runner to the slot ledger of its pool. Every method is one script, and ends with placement.

The caller must send what a method returns as `placed` to the pods' queues. The sweep repeats lost messages.
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
    """Not every pod of the pool has reported since Redis was new: until then nothing is granted."""


Attempt = tuple[str, str, str, int]
"""Job, attempt, phase, number of the slot from 1."""
Ended = tuple[str, str, str, str, str]
"""Job, attempt, phase, outcome, result."""


@dataclass(frozen=True)
class Report:
    """Everything that a runner holds. `mark` and `grants` are those of the runner's last answer."""

    uid: str
    pod: str
    layout: tuple[str, ...]  # see slot_class
    mark: str | None = None  # None: there was no answer yet
    grants: int = 0
    running: tuple[Attempt, ...] = ()
    reserved: tuple[Attempt, ...] = ()
    ended: tuple[Ended, ...] = ()
    jobs: tuple[Job, ...] = ()  # of all these; may be left out when the mark is the one of the last answer
    asked: tuple[tuple[str, str], ...] = ()  # job and attempt of starts whose answer has not come
    ran: tuple[tuple[str, int], ...] = ()  # attempt, and for how many ms it has run; of those whose time is limited
    version: str | None = None  # of the runner, for people

    def encoded(self) -> bytes:
        """Return the report as JSON for the script `report`."""
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
                "ran": dict(self.ran),
                "version": self.version,
            }
        )


@dataclass(frozen=True)
class Answer:
    """The answer to a report. `accepted` False: report again with this mark; the report was for another incarnation.

    `stop`: attempts that the runner must stop or forget. `acknowledged`: attempts whose outcome need not be repeated.
    """

    mark: str
    accepted: bool = False
    grants: int = 0
    view: str | None = None
    stop: tuple[str, ...] = ()
    acknowledged: tuple[str, ...] = ()
    placed: tuple[Placed, ...] = ()


@dataclass(frozen=True)
class Started:
    """A granted start: the number of the slot; for a later phase also the attempt that reserved the slot."""

    slot: int
    plan: str | None = None


@dataclass(frozen=True)
class Change:
    """What a request did, and the `state` afterwards. `taken` False: refused, as late or not the present attempt."""

    taken: bool
    state: str = ""
    placed: tuple[Placed, ...] = ()


@dataclass(frozen=True)
class LogBatch:
    """Lines of the log of an attempt, joined by newlines: those with the numbers `first` to `last`, from 1.

    `ended`: the attempt writes no more. Such a batch may have no lines: then `last` is `first` - 1.
    """

    first: int
    last: int
    text: bytes
    ended: bool = False


@dataclass(frozen=True)
class LogBounds:
    """How many bytes the log of an attempt, and all logs of the pool, may have.

    A batch counts 64 and its text. For the pool, each log counts 4,608 more: that is what an empty one takes in Redis.
    """

    attempt: int
    pool: int


class RunnerLedger:
    """The slot ledger of pod pool `pool` (namespace/name), for runners. Cheap to create: the scripts are shared."""

    def __init__(self, redis: Redis, scripts: dict[str, Script], pool: str) -> None:
        self.redis, self.pool, self.prefix, self._scripts = redis, pool, f"{{sp:{pool}}}", scripts

    def script(self, name: str) -> Script:
        """Return the script of that name. Raises KeyError."""
        return self._scripts[name]

    def report(self, report: Report) -> Answer:
        """Send the report. An answer that is not `accepted` carries only the mark for the next report."""
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
        """Ask whether an attempt may start on the pod `uid`. None: refused."""
        status, *granted = self.call("start", job, phase, attempt, uid)
        return Started(int(granted[0]), granted[1].decode() or None) if status == b"OK" else None

    def finish(self, job: str, phase: str, attempt: str, outcome: str, result: str = "") -> Change:
        """Record the outcome of an attempt. Refused if the attempt is not running, or not the job's latest.

        Refused with the state `unknown`: the job has no record, and the outcome must be reported.
        """
        return change_of(self.call("finish", job, phase, attempt, outcome, result))

    def append_log(self, job: str, attempt: str, phase: str, batch: LogBatch, bounds: LogBounds) -> bool:
        """Append lines to the log of an attempt, once, however often it is called. False: the job has no record."""
        lines = (batch.first, batch.last, batch.text, "1" if batch.ended else "")
        return bool(self.call("append_log", job, attempt, phase, *lines, bounds.attempt, bounds.pool)[0] == b"OK")

    def undo(self, job: str, attempt: str, wait: timedelta) -> tuple[int, tuple[Placed, ...]]:
        """Undo a placement whose message could not be sent. Returns how often that happened to the job; -1: refused."""
        status, *rest = self.call("undo", job, attempt, milliseconds(wait))
        return (int(rest[0]), placed_of(rest[1])) if status == b"OK" else (-1, ())

    def call(self, script: str, *args: Any) -> list[Any]:
        """Run a script. Raises NotVerified, and UnreadableLedger when the script meets foreign data."""
        with readable():
            reply: list[Any] = self._scripts[script]([self.prefix], (INCARNATION, *args))
        if reply[0] == b"NOT_READY":
            doubt_at_times(self.redis)
            raise NotVerified(f"the slots of pod pool {self.pool} are being verified")
        return reply


def milliseconds(length: timedelta) -> int:
    """Return the length in whole milliseconds, rounded down."""
    return length // timedelta(milliseconds=1)


@readable()
def texts_of(replies: Sequence[bytes]) -> tuple[str, ...]:
    """Decode each reply. Raises UnreadableLedger."""
    return tuple(reply.decode() for reply in replies)


@readable()
def change_of(reply: list[Any]) -> Change:
    """Return the change that a script's reply describes. Raises UnreadableLedger."""
    status, *rest = reply
    state = rest[0].decode() if rest else ""
    return Change(status == b"OK", state, placed_of(rest[1]) if len(rest) > 1 else ())
