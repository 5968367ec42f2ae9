"""The slot ledger of one pod pool, as clients and workers use it. Every method is one script, one step of Redis."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import orjson

from berthmaster.errors import StaleToken
from berthmaster.jobs.job import Job, JobRecord, Placed
from berthmaster.jobs.records import decoded, placed_of, request_of
from berthmaster.jobs.runner_ledger import Change, RunnerLedger, change_of, milliseconds, texts_of
from berthmaster.jobs.unreadable import readable

MOST: Final = 1000
PAUSE: Final = timedelta(minutes=1)


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


class SlotLedger(RunnerLedger):
    """All of it: what clients do, what runners do, what workers do."""

    # ---- what clients do

    def submit(self, job: Job, wait: timedelta = timedelta(0)) -> tuple[JobRecord, tuple[Placed, ...]]:
        """Idempotent by id: said again, what has become of it."""
        _, record, placed = self.call("submit", job.id, orjson.dumps(request_of(job)), milliseconds(wait))
        return decoded(job.id, record), placed_of(placed)

    def confirm(self, job: str, plan: str) -> Change:
        """`plan` is the attempt whose result was seen."""
        return change_of(self.call("confirm", job, plan))

    def cancel(self, job: str) -> Change:
        return change_of(self.call("cancel", job))

    @readable()
    def record(self, job: str) -> JobRecord | None:
        stored: Any = self.redis.hget(f"{self.prefix}jobs", job)
        return decoded(job, stored) if stored else None

    # ---- what workers do

    def sweep(self, remember: timedelta, pause: timedelta = PAUSE) -> Swept:
        """`pause`: sweeps come more often; reservations last for as much longer as none came."""
        _, expired, placed = self.call("sweep", milliseconds(remember), MOST, milliseconds(pause))
        return Swept(texts_of(expired), placed_of(placed))

    def verification(self) -> str:
        """The mark of the present one, begun if need be: ask before pods are listed."""
        return str(self.call("begin", "", "[]")[1].decode())

    def begin(self, uids: Collection[str], mark: str = "") -> None:
        """Expects the reports of these pods, all that Kubernetes had when the verification `mark` was the present one.

        Raises NotVerified when it is another by now: the list may lack newer pods, which have jobs.
        """
        self.call("begin", mark or self.verification(), orjson.dumps(sorted(uids)))

    def remove_pod(self, uid: str) -> tuple[Placed, ...]:
        return placed_of(self.call("remove_pod", uid)[1])

    def fence(self, uid: str, token: str, floor: int) -> str:
        """'' when the pod is fenced; else why not: UNKNOWN, BUSY, CLOSED, FLOOR."""
        return _refusal(self.call("close", uid, "fenced", token, floor))

    def claim(self, uid: str, token: str) -> str:
        return _refusal(self.call("close", uid, "claimed", token, 0))

    def record_claim(self, uid: str, token: str) -> bool:
        """Claimed under `token`, because Kubernetes says whose it is. False: it has jobs, or nobody knows it."""
        return not _refusal(self.call("record_claim", uid, token))

    def take_over(self, uid: str, holder: str, token: str) -> bool:
        return bool(self.call("take_over", uid, holder, token)[0] == b"OK")

    def open(self, uid: str, token: str = "") -> tuple[Placed, ...] | None:
        """The pod was written in Kubernetes just before. None: its view has changed."""
        status, *rest = self.call("open", uid, token)
        return placed_of(rest[0]) if status == b"OK" else None

    def quarantine(self, uid: str, *, for_good: bool = False) -> bool:
        """No new jobs, whatever runs on it. False: its view has changed."""
        return bool(self.call("quarantine", uid, "ending" if for_good else "away")[0] == b"OK")

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
        revision_stored, at = self.redis.hmget(key, "revision", "at")
        if revision_stored == revision.encode() and age.total_seconds() >= now - int(at or 0) >= 0:
            return
        if revision_stored != revision.encode():
            self.redis.delete(key)
        self.redis.hset(key, mapping={"revision": revision, "at": now})
        self.redis.hincrby(key, "count", 1)

    def became_ready(self) -> None:
        self.redis.delete(f"{self.prefix}unready")

    def forget_names(self, names: Collection[str]) -> None:
        """Pods of these names are there."""
        if names:
            self.redis.srem(f"{self.prefix}names", *names)


def _refusal(reply: list[Any]) -> str:
    return "" if reply[0] == b"OK" else str(reply[0].decode())
