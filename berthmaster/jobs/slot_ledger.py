"""The slot ledger of one pod pool. Every method is one script, one step of Redis, and ends with placement.

What a method returns as `placed` must be sent to the pods' queues; what is lost on the way is sent again by the sweep.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import orjson
from redis import Redis

from berthmaster.errors import StaleToken, TransientError
from berthmaster.jobs.job import Job, JobRecord, Placed
from berthmaster.jobs.records import decoded, placed_of, told_of
from berthmaster.jobs.unreadable import readable
from berthmaster.redis.incarnation import INCARNATION, doubt_at_times
from berthmaster.redis.scripts import PreloadedScript, Script

LUA: Final = Path(__file__).parent / "lua"
PARTS: Final = ("names", "gate", "shapes", "pods", "jobs", "attempts", "ending", "placing", "telling")
NAMES: Final = (
    *("aside", "begin", "cancel", "close", "confirm", "enlist", "finish", "forget", "forget_size", "gone", "hold"),
    *("keep_claimable", "open", "page", "report", "resize", "start", "submit", "sweep", "take_over", "undo"),
)
OF_RUNNERS: Final = ("finish", "report", "start", "undo")
MOST: Final = 1000
PAUSE: Final = timedelta(minutes=1)


class NotVerified(TransientError):  # noqa: N818 - an expected wait, said in the scripts' own word
    """Not every pod of the pool has reported since Redis was new: nothing is granted until then."""


def load_scripts(redis: Redis) -> dict[str, Script]:
    """Reads files: call it once a process."""
    return {name: Script(redis, name, LUA, _head()) for name in NAMES}


def preloaded_scripts(redis: Redis) -> dict[str, Script]:
    """Of runners, which may not load any: workers do (see workers.stores.slots.preload)."""
    return {name: PreloadedScript(redis, name, LUA, _head()) for name in OF_RUNNERS}


def _head() -> str:
    return "".join((LUA / f"{part}_head.lua").read_text(encoding="utf-8") for part in PARTS)


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
    held: tuple[Attempt, ...] = ()
    ended: tuple[Ended, ...] = ()
    jobs: tuple[Job, ...] = ()  # of all these; may be left out when the mark is the one of the last answer
    asked: tuple[tuple[str, str], ...] = ()  # job and attempt of starts whose answer has not come

    def encoded(self) -> bytes:
        told: dict[str, Any] = {"asks": self.asked, "run": self.running, "held": self.held, "outs": self.ended}
        told |= {"jobs": {job.id: told_of(job) for job in self.jobs}}
        return orjson.dumps({"u": self.uid, "n": self.pod, "l": self.layout, "m": self.mark, "g": self.grants} | told)


@dataclass(frozen=True)
class Answer:
    """`heard` False: the report was made for another incarnation, make a new one with this mark.

    `stop`: attempts that the runner must stop or forget. `known`: attempts whose outcome need not be repeated.
    """

    mark: str
    heard: bool = False
    grants: int = 0
    view: str = ""
    stop: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
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


@dataclass(frozen=True)
class Size:
    """How many pods there shall be; ms since that last went up and down, -1 for never."""

    pods: int
    up: int = -1
    down: int = -1


@dataclass(frozen=True)
class Swept:
    expired: tuple[str, ...] = ()
    placed: tuple[Placed, ...] = field(default_factory=tuple)


class SlotLedger:
    """Of pod pool `pool` (namespace/name). Cheap to make: the scripts are shared."""

    def __init__(self, redis: Redis, scripts: dict[str, Script], pool: str) -> None:
        self.redis, self.pool, self.prefix, self._scripts = redis, pool, f"{{sp:{pool}}}", scripts

    def script(self, name: str) -> Script:
        return self._scripts[name]

    # ---- what clients do

    def submit(self, job: Job, wait: timedelta = timedelta(0)) -> tuple[JobRecord, tuple[Placed, ...]]:
        """Idempotent by id: said again, what has become of it."""
        _, record, placed = self.call("submit", job.id, orjson.dumps(told_of(job)), _ms(wait))
        return decoded(job.id, record), placed_of(placed)

    def confirm(self, job: str, plan: str) -> Change:
        """`plan` is the attempt whose result was seen."""
        return _change(self.call("confirm", job, plan))

    def cancel(self, job: str) -> Change:
        return _change(self.call("cancel", job))

    @readable()
    def record(self, job: str) -> JobRecord | None:
        stored: Any = self.redis.hget(f"{self.prefix}jobs", job)
        return decoded(job, stored) if stored else None

    # ---- what runners do

    def report(self, report: Report) -> Answer:
        status, mark, *rest = self.call("report", report.encoded())
        if status == b"AGAIN":
            return Answer(mark.decode())
        grants, view, stop, known, placed = rest
        return Answer(
            mark.decode(),
            heard=True,
            grants=int(grants),
            view=view.decode(),
            stop=_texts(stop),
            known=_texts(known),
            placed=placed_of(placed),
        )

    def start(self, job: str, phase: str, attempt: str, uid: str) -> Started | None:
        """None: refused."""
        status, *told = self.call("start", job, phase, attempt, uid)
        return Started(int(told[0]), told[1].decode()) if status == b"OK" else None

    def finish(self, job: str, phase: str, attempt: str, outcome: str, result: str = "") -> Change:
        return _change(self.call("finish", job, phase, attempt, outcome, result))

    # ---- what workers do

    def undo(self, job: str, attempt: str, wait: timedelta) -> tuple[int, tuple[Placed, ...]]:
        """The message could not be sent. How often that was so; -1: it is not this attempt any more."""
        status, *rest = self.call("undo", job, attempt, _ms(wait))
        return (int(rest[0]), placed_of(rest[1])) if status == b"OK" else (-1, ())

    def sweep(self, remember: timedelta, pause: timedelta = PAUSE) -> Swept:
        """`pause`: sweeps come more often; reservations last for as much longer as none came."""
        _, expired, placed = self.call("sweep", _ms(remember), MOST, _ms(pause))
        return Swept(_texts(expired), placed_of(placed))

    def verification(self) -> str:
        """The mark of the present one, begun if need be: ask before pods are listed."""
        return str(self.call("begin", "", "[]")[1].decode())

    def begin(self, uids: Collection[str], mark: str = "") -> None:
        """Expects the reports of these pods, all that Kubernetes had when the verification `mark` was the present one.

        Raises NotVerified when it is another by now: the list may lack newer pods, which have jobs.
        """
        self.call("begin", mark or self.verification(), orjson.dumps(sorted(uids)))

    def gone(self, uid: str) -> tuple[Placed, ...]:
        return placed_of(self.call("gone", uid)[1])

    def fence(self, uid: str, token: str, floor: int) -> str:
        """'' when the pod is fenced; else why not: UNKNOWN, BUSY, CLOSED, FLOOR."""
        return _refusal(self.call("close", uid, "fenced", token, floor))

    def claim(self, uid: str, token: str) -> str:
        return _refusal(self.call("close", uid, "claimed", token, 0))

    def hold(self, uid: str, token: str) -> bool:
        """Claimed under `token`, because Kubernetes says whose it is. False: it has jobs, or nobody knows it."""
        return not _refusal(self.call("hold", uid, token))

    def take_over(self, uid: str, holder: str, token: str) -> bool:
        return bool(self.call("take_over", uid, holder, token)[0] == b"OK")

    def open(self, uid: str, token: str = "") -> tuple[Placed, ...] | None:
        """The pod was written in Kubernetes just before. None: its view has changed."""
        status, *rest = self.call("open", uid, token)
        return placed_of(rest[0]) if status == b"OK" else None

    def set_aside(self, uid: str, *, for_good: bool = False) -> bool:
        """No new jobs, whatever runs on it. False: its view has changed."""
        return bool(self.call("aside", uid, "ending" if for_good else "away")[0] == b"OK")

    def resize(self, token: str, size: int | None, least: int, most: int, present: int) -> Size:
        """To `size`, or as it is; a size and not a change, so that a lost reply is asked again without harm.

        Raises StaleToken when a newer run has the pool.
        """
        reply = self.call("resize", token, "" if size is None else size, least, most, present)
        if reply[0] == b"STALE":
            raise StaleToken(f"a newer run has pod pool {self.pool}")
        return Size(*(int(value) for value in reply[1:]))

    def enlist(self, token: str, names: Collection[str], dropped: Collection[str] = ()) -> None:
        """Pods of these names shall be created, of the `dropped` ones never. Raises StaleToken."""
        if self.call("enlist", token, orjson.dumps(list(names)), orjson.dumps(list(dropped)))[0] == b"STALE":
            raise StaleToken(f"a newer run has pod pool {self.pool}")

    def forget_size(self, token: str) -> None:
        """The pool is gone: one that is made by its name has a size of its own, and creates pods of its own."""
        self.call("forget_size", token)

    def forget(self, token: str) -> bool:
        """Nothing is known of a pool that is gone. False: it has pods or jobs, or is there again."""
        return bool(self.call("forget", token)[0] == b"OK")

    @readable()
    def never_ready(self, revision: str, age: timedelta) -> None:
        """Pods that booted side by side count once. Only the run that has the pool says so."""
        key, now = f"{self.prefix}unready", self.redis.time()[0]
        known, at = self.redis.hmget(key, "revision", "at")
        if known == revision.encode() and age.total_seconds() >= now - int(at or 0) >= 0:
            return
        if known != revision.encode():
            self.redis.delete(key)
        self.redis.hset(key, mapping={"revision": revision, "at": now})
        self.redis.hincrby(key, "count", 1)

    def became_ready(self) -> None:
        self.redis.delete(f"{self.prefix}unready")

    def forget_names(self, names: Collection[str]) -> None:
        """Pods of these names are there."""
        if names:
            self.redis.srem(f"{self.prefix}names", *names)

    def call(self, script: str, *args: Any) -> list[Any]:
        """Raises NotVerified, and UnreadableLedger when the script meets what none of ours has written."""
        with readable():
            reply: list[Any] = self._scripts[script]([self.prefix], (INCARNATION, *args))
        if reply[0] == b"NOT_READY":
            doubt_at_times(self.redis)
            raise NotVerified(f"the slots of pod pool {self.pool} are being verified")
        return reply


def _ms(length: timedelta) -> int:
    return length // timedelta(milliseconds=1)


@readable()
def _texts(replies: Sequence[bytes]) -> tuple[str, ...]:
    return tuple(reply.decode() for reply in replies)


@readable()
def _change(reply: list[Any]) -> Change:
    status, *rest = reply
    state = rest[0].decode() if rest else ""
    return Change(status == b"OK", state, placed_of(rest[1]) if len(rest) > 1 else ())


def _refusal(reply: list[Any]) -> str:
    return "" if reply[0] == b"OK" else str(reply[0].decode())
