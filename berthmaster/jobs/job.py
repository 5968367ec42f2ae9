"""A job of a pod pool: what its client asks for, and what has become of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

ATTEMPT: Final = re.compile("[0-9]{1,20}-[0-9]{1,20}")
"""A runner has files that are named by attempts."""


class JobState(StrEnum):
    """waiting -> placed -> running -> (reserved -> confirmed -> placed -> running ->) done.

    `cancelling`: the job runs and is asked to stop. `unknown`: the job is from before a loss of Redis, and no runner
    has reported it yet.
    """

    WAITING = "waiting"
    PLACED = "placed"
    RUNNING = "running"
    RESERVED = "reserved"
    CONFIRMED = "confirmed"
    CANCELLING = "cancelling"
    UNKNOWN = "unknown"
    DONE = "done"


class Limit(StrEnum):
    """A time limit of a job: of its wait for the first start, of each attempt, or of a reservation."""

    QUEUE = "queue"
    RUN = "run"
    RESERVATION = "reservation"


@dataclass(frozen=True)
class PoolLimits:
    """How long the spec of a pool lets a reservation last, a job wait for its first start, and an attempt run.

    None: for any time.
    """

    reservation: timedelta
    queue: timedelta | None = None
    run: timedelta | None = None


class WhenLost(StrEnum):
    """What becomes of a running first phase whose runner is gone. A later phase always counts as lost."""

    REQUEUE = "requeue"
    FAIL = "fail"


@dataclass(frozen=True)
class Job:
    """`phases` run one after the other in one slot, each further one once it is confirmed.

    Of the jobs of one `serial_key` one at a time runs a phase that only slots for any job take. `priority` 0 goes
    first. `body` is the client's own text, handed to the runner. `hold_ms`: how long a reservation lasts; `queue_ms`:
    how long the job may wait for its first start; `run_ms`: how long each attempt may run. None: as long as the spec of
    the pool says.
    """

    id: str
    phases: tuple[str, ...]
    serial_key: str = ""
    priority: int = 5
    hold_ms: int | None = 24 * 3600 * 1000
    when_lost: WhenLost = WhenLost.REQUEUE
    body: str = ""
    queue_ms: int | None = None
    run_ms: int | None = None

    @property
    def limits(self) -> dict[str, int]:
        """The time limits that the job has of its own, in ms."""
        limits = {"queue_ms": self.queue_ms, "run_ms": self.run_ms}
        return {name: length for name, length in limits.items() if length is not None}


@dataclass(frozen=True)
class JobRecord:
    """A job and its state. `attempt`: the latest try of `phase`; `plan`: the attempt whose result waits for a person.

    `outcome` of an ended job: succeeded, failed, cancelled, expired (nobody confirmed it in time), timed_out, or lost
    (its runner is gone, and it must not run again). `limit`: the one whose time was over, None for any other end; of a
    job that is `cancelling`, the one that has asked its runner to stop. `queue_ms`, `run_ms`: None for no limit.
    `confirmed_by`: the name of who has confirmed the latest plan, '' if nobody has, or nobody said it.
    """

    id: str
    state: JobState
    phases: tuple[str, ...]
    phase: str
    attempt: str = ""
    uid: str = ""
    slot: int = 0
    plan: str = ""
    outcome: str = ""
    result: str = ""
    serial_key: str = ""
    priority: int = 5
    limit: Limit | None = None
    queue_ms: int | None = None
    run_ms: int | None = None
    confirmed_by: str = ""


@dataclass(frozen=True)
class Placed:
    """An attempt that was given a slot: its message must be sent to the queue of `pod`.

    `tries`: how often a message of the job could not be sent.
    """

    id: str
    attempt: str
    uid: str
    pod: str
    phase: str
    job: Job
    tries: int = 0


def slot_class(accepts: Iterable[str]) -> str:
    """Return the ledger's name for a slot that accepts these kinds: `*` for any, else `,build,plan,`."""
    kinds = sorted(accepts)
    return f",{','.join(kinds)}," if kinds else "*"


def accepted(name: str) -> frozenset[str] | None:
    """Return the kinds that a slot of this class accepts, None for any."""
    return None if name == slot_class(()) else frozenset(name.strip(",").split(","))
