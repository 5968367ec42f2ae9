"""A job of a pod pool: what its client asks for, and what has become of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


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


class WhenLost(StrEnum):
    """What becomes of a running first phase whose runner is gone. A later phase always counts as lost."""

    REQUEUE = "requeue"
    FAIL = "fail"


@dataclass(frozen=True)
class Job:
    """`phases` run one after the other in one slot, each further one once it is confirmed.

    Of the jobs of one `serial_key` one at a time runs a phase that only slots for any job take. `priority` 0 goes
    first. `body` is the client's own text, handed to the runner. `hold_ms`: how long a reservation lasts.
    """

    id: str
    phases: tuple[str, ...]
    serial_key: str = ""
    priority: int = 5
    hold_ms: int = 24 * 3600 * 1000
    when_lost: WhenLost = WhenLost.REQUEUE
    body: str = ""


@dataclass(frozen=True)
class JobRecord:
    """A job and its state. `attempt`: the latest try of `phase`; `plan`: the attempt whose result waits for a person.

    `outcome` of an ended job: succeeded, failed, cancelled, expired, or lost (its runner is gone, and it must not run
    again).
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
