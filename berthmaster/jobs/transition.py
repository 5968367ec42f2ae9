"""What an event can do to a job: the words of the table of transitions (berthmaster.jobs.lifecycle)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from berthmaster.jobs.job import JobState, Limit

AS_REPORTED: Final = "as_reported"


class Fact(StrEnum):
    """What a script knows of a job or of an event. A fact that is not given does not hold."""

    FIRST_PHASE = "first_phase"
    MORE_PHASES = "more_phases"
    HAS_SLOT = "has_slot"  # its pod is known, and its slot is not idle
    REPEATABLE = "repeatable"  # its client lets it run again when its runner is lost
    SUCCEEDED = "succeeded"  # of the outcome that the event tells; of a job that has ended, its own
    SAME_ATTEMPT = "same_attempt"  # the event is about the attempt that is stored
    LATER_ATTEMPT = "later_attempt"  # the event is about an attempt after the stored one
    DELAYED = "delayed"  # it may not be placed yet
    LIMITED = "limited"  # it has the limit that counts in its state
    OVER_TIME = "over_time"  # a limit has asked its runner to stop it


class SlotChange(StrEnum):
    """What becomes of the job's slot."""

    KEEP = "keep"
    FREE = "free"
    RUN = "running"  # it is given the slot, and the slot counts as running
    RESERVE = "reserved"


class Key(StrEnum):
    """What becomes of the job's serial key."""

    KEEP = "keep"
    TAKE = "take"  # if its phase needs the key and nobody has it
    HAND_ON = "hand_on"  # to the first that waits for it


class PhaseChange(StrEnum):
    """Which phase the job is in afterwards."""

    KEEP = "keep"
    FIRST = "first"
    NEXT = "next"
    REPORTED = "reported"


class Attempt(StrEnum):
    """Which attempt is stored afterwards."""

    KEEP = "keep"
    NEW = "new"
    REPORTED = "reported"


class Plan(StrEnum):
    """What becomes of the attempt whose result a person may confirm."""

    KEEP = "keep"
    SET = "set"
    CLEAR = "clear"


class Index(StrEnum):
    """An index of the ledger that lists jobs."""

    NONE = "none"
    LINE = "line"  # of jobs that wait for a slot or for a serial key
    LATER = "later"  # of jobs that may not be placed yet
    SENT = "sent"  # of attempts by the time at which their message is sent again
    DUE = "due"  # of reservations by their end
    STOPPING = "stopping"  # of jobs by the time at which their runner was asked to stop them
    ENDED = "ended"  # of jobs by the time of their end


@dataclass(frozen=True)
class Transition:
    """What an event does to a job. `state` None: the record does not change.

    `when`: facts that must all hold. `outcome`: the outcome of a job that ends; AS_REPORTED: the event's own.
    `begins`: the limit whose time begins. `limit`: the one whose time is over, which is why the job ends or is stopped.
    `announce`: clients that wait for the job get a message.
    """

    state: JobState | None = None
    when: tuple[Fact, ...] = ()
    outcome: str | None = None
    slot: SlotChange = SlotChange.KEEP
    key: Key = Key.KEEP
    phase: PhaseChange = PhaseChange.KEEP
    attempt: Attempt = Attempt.KEEP
    plan: Plan = Plan.KEEP
    index: Index = Index.NONE
    begins: Limit | None = None
    limit: Limit | None = None
    announce: bool = False

    def only(self, *facts: Fact) -> Transition:
        """Return the same transition, limited to events with these facts."""
        return replace(self, when=facts)
