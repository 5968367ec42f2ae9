"""The slot ledger of one pod pool, as clients and workers use it. Every method is one script, one step of Redis."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

import orjson

from berthmaster.errors import StaleToken, TransientError
from berthmaster.jobs.job import Job, JobRecord, Limit, Placed, PoolLimits
from berthmaster.jobs.records import decoded, placed_of, request_of
from berthmaster.jobs.result import kept
from berthmaster.jobs.runner_ledger import Change, RunnerLedger, change_of, milliseconds, texts_of
from berthmaster.jobs.unreadable import UnreadableLedger, readable

MOST: Final = 1000
PAUSE: Final = timedelta(minutes=1)
REFUSALS_KEPT: Final = timedelta(hours=1)
"""For how long a pool that has no ledger keeps the refusals of its jobs after the last one."""


class NoSpecError(TransientError):
    """No run of the pool has recorded yet what submissions need of its spec."""


class PodRefusal(StrEnum):
    """Why a pod is not closed."""

    UNKNOWN = "UNKNOWN"
    BUSY = "BUSY"  # it has jobs
    CLOSED = "CLOSED"  # another has closed it, or it is open and must be fenced
    FLOOR = "FLOOR"  # too few pods would be left


@dataclass(frozen=True)
class Size:
    """How many pods there shall be; ms since that number last went up and down, -1 for never."""

    pods: int
    up: int = -1
    down: int = -1


@dataclass(frozen=True)
class Quarantine:
    """A pod was closed. `placed` must be sent."""

    placed: tuple[Placed, ...]


@dataclass(frozen=True)
class Swept:
    """What a sweep did: `expired` are ids of jobs whose reservation ended, `placed` must be sent.

    `over_time`: ids of jobs whose time limit was over, and the limit: such a job has ended, or its runner is asked to
    stop it. `unreadable`: ids of jobs whose record no script can read. `beside`: ids of jobs that run although another
    job has their serial key.
    """

    expired: tuple[str, ...] = ()
    placed: tuple[Placed, ...] = field(default_factory=tuple)
    unreadable: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    over_time: tuple[tuple[str, Limit], ...] = ()


class SlotLedger(RunnerLedger):
    """The slot ledger for clients, runners and workers."""

    # ---- what clients do

    def submit(self, job: Job, wait: timedelta = timedelta(0)) -> tuple[JobRecord, tuple[Placed, ...]]:
        """Submit a job. Idempotent by id: a repeated submission returns the present record.

        Raises UnreadableLedger while the job has no readable record, and may run; NoSpecError for a job without a
        `hold_ms` while the ledger does not know the one of the pool.
        """
        status, *taken = self.call("submit", job.id, orjson.dumps(request_of(job)), milliseconds(wait))
        if status == b"DOUBTFUL":
            raise UnreadableLedger(f"job {job.id} has no readable record, and may run: its runner must report first")
        if status == b"NO_SPEC":
            raise NoSpecError(f"no run of pod pool {self.pool} has recorded its spec")
        record, placed = taken
        return decoded(job.id, record), placed_of(placed)

    def confirm(self, job: str, plan: str, by: str | None = None) -> Change:
        """Let the next phase run. `plan` is the attempt that was reviewed, `by` the name of who has reviewed it."""
        return change_of(self.call("confirm", job, plan, by or ""))

    def cancel(self, job: str, by: str | None = None) -> Change:
        """Cancel a job. A phase that has started keeps its slot until the runner reports that the phase stopped.

        `by`: the name of who cancels it.
        """
        return change_of(self.call("cancel", job, by or ""))

    @readable()
    def record(self, job: str) -> JobRecord | None:
        """Return the job's record, None for an unknown job. Raises UnreadableLedger."""
        stored: Any = self.redis.hget(f"{self.prefix}jobs", job)
        return decoded(job, stored) if stored else None

    # ---- what workers do

    def sweep(self, remember: timedelta, pause: timedelta = PAUSE) -> Swept:
        """End late reservations and jobs over their time, place waiting jobs, and free serial keys of no record.

        `pause`: after a longer gap between sweeps, reservations and time limits last as much longer.
        """
        reply = self.call("sweep", milliseconds(remember), MOST, milliseconds(pause))
        _, expired, placed, unreadable, beside, over_time = reply
        over = texts_of(over_time)
        limits = tuple((job, Limit(limit)) for job, limit in zip(over[::2], over[1::2], strict=True))
        return Swept(texts_of(expired), placed_of(placed), texts_of(unreadable), texts_of(beside), limits)

    def refuse(self, message: str, job: str | None, why: str) -> None:
        """Tell the sender of a submission, by the id of its message, why nobody takes the job in.

        `job`: its id, None for a submission without a valid one.
        """
        self.call("refuse", message, job or "", kept(why), milliseconds(REFUSALS_KEPT))

    def verification(self) -> str:
        """Return the mark of the present verification, begun if necessary. Call this before you list pods."""
        return str(self.call("begin", "", "[]")[1].decode())

    def begin(self, uids: Collection[str], mark: str | None = None) -> None:
        """Expect the reports of these pods: all that Kubernetes had while the verification `mark` was the present one.

        Raises NotVerified when another verification has begun: the list may lack newer pods, which have jobs.
        """
        self.call("begin", mark or self.verification(), orjson.dumps(sorted(uids)))

    def remove_pod(self, uid: str) -> tuple[Placed, ...]:
        """Forget a pod that is gone from Kubernetes. Its jobs are placed again, or lost. Returns what must be sent."""
        return placed_of(self.call("remove_pod", uid)[1])

    def fence(self, uid: str, token: str, floor: int) -> PodRefusal | None:
        """Fence an idle pod. Returns why not, None when it is fenced."""
        return _refusal(self.call("close", uid, "fenced", token, floor))

    def claim(self, uid: str, token: str) -> PodRefusal | None:
        """Close an idle pod for a claim. Returns why not, None when the pod is claimed."""
        return _refusal(self.call("close", uid, "claimed", token, 0))

    def record_claim(self, uid: str, token: str) -> bool:
        """Record that the pod is claimed under `token`, as Kubernetes says. False: the pod has jobs, or is unknown."""
        return not _refusal(self.call("record_claim", uid, token))

    def take_over(self, uid: str, holder: str, token: str) -> bool:
        """Fence a fenced or claimed pod under a new token. False: its token is not `holder` any more."""
        return bool(self.call("take_over", uid, holder, token)[0] == b"OK")

    def open(self, uid: str, token: str | None = None) -> tuple[Placed, ...] | None:
        """Open the pod, which the caller has just written in Kubernetes. None: the pod's view has changed."""
        status, *rest = self.call("open", uid, token or "")
        return placed_of(rest[0]) if status == b"OK" else None

    def quarantine(self, uid: str, *, for_good: bool = False) -> Quarantine | None:
        """Close the pod for new jobs, whatever runs on it. None: the pod's view has changed.

        `for_good`: it terminates, or must. What was placed there and has not started is placed elsewhere.
        """
        status, *rest = self.call("quarantine", uid, "ending" if for_good else "away")
        return Quarantine(placed_of(rest[0])) if status == b"OK" else None

    def retire(self, uid: str) -> bool:
        """End a pod that is not open, for good. False: it has jobs, or is open, claimed or fenced."""
        return not _refusal(self.call("retire", uid))

    def resize(
        self, token: str, size: int | None, least: int, most: int, present: int, limits: PoolLimits | None = None
    ) -> Size:
        """Set the size, or read it with None. `size` is no difference, so that repeating a lost call is harmless.

        `limits`: those of jobs that are submitted from now on and have none of their own; None changes nothing.

        Raises StaleToken when a newer run has the pool.
        """
        lengths = (limits.reservation, limits.queue, limits.run) if limits else (None, None, None)
        in_ms = ("" if length is None else milliseconds(length) for length in lengths)
        reply = self.call("resize", token, "" if size is None else size, least, most, present, *in_ms)
        if reply[0] == b"STALE":
            raise StaleToken(f"a newer run has pod pool {self.pool}")
        return Size(*(int(value) for value in reply[1:]))

    def enlist(self, token: str, names: Collection[str], dropped: Collection[str] = ()) -> None:
        """Record that pods of these names shall be created, and those of `dropped` names never. Raises StaleToken."""
        if self.call("enlist", token, orjson.dumps(list(names)), orjson.dumps(list(dropped)))[0] == b"STALE":
            raise StaleToken(f"a newer run has pod pool {self.pool}")

    def forget_size(self, token: str) -> None:
        """Forget a deleted pool's size: a new pool of the name has a size and pods of its own."""
        self.call("forget_size", token)

    def forget(self, token: str) -> bool:
        """Forget a deleted pool. False: it has pods or jobs, or exists again."""
        return bool(self.call("forget", token)[0] == b"OK")

    @readable()
    def never_ready(self, revision: str, age: timedelta) -> None:
        """Count a pod that never became ready, once for pods that booted together. Only the pool's run may call it."""
        key, now = f"{self.prefix}unready", self.redis.time()[0]
        revision_stored, at = self.redis.hmget(key, "revision", "at")
        if revision_stored == revision.encode() and age.total_seconds() >= now - int(at or 0) >= 0:
            return
        if revision_stored != revision.encode():
            self.redis.delete(key)
        self.redis.hset(key, mapping={"revision": revision, "at": now})
        self.redis.hincrby(key, "count", 1)

    def became_ready(self) -> None:
        """Forget the count of pods that never became ready."""
        self.redis.delete(f"{self.prefix}unready")

    def forget_names(self, names: Collection[str]) -> None:
        """Forget these names of pods to create: the pods exist."""
        if names:
            self.redis.srem(f"{self.prefix}names", *names)


def _refusal(reply: list[Any]) -> PodRefusal | None:
    return None if reply[0] == b"OK" else PodRefusal(reply[0].decode())
