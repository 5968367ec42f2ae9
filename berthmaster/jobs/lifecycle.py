"""The life of a job: which events change its state, and what becomes of its slot, serial key and place in line.

The scripts of the ledger decide none of it. They receive this table as data and apply one row in an atomic step, if the
stored state is the row's state and the row's facts hold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from berthmaster.jobs.job import JobState


class Event(StrEnum):
    """What happens to a job."""

    SUBMIT = "submit"  # its client asks for it
    DELAY_OVER = "delay_over"  # the time is over before which it may not be placed
    KEY_FREE = "key_free"  # it is the first that waits for a serial key, and nobody has the key
    PLACE = "place"  # a slot is free for it, and so is its serial key
    UNSENT = "unsent"  # the message of its attempt could not be sent
    RESEND = "resend"  # its attempt has not started for so long that the message counts as lost
    START = "start"  # its runner asks whether it may start the attempt
    END = "end"  # its runner says how the attempt ended
    CONFIRM = "confirm"  # a person has seen the result of a phase, and wants the next
    CANCEL = "cancel"
    EXPIRE = "expire"  # nobody has confirmed it in time
    LOSE = "lose"  # its pod is gone, or runs another job in its slot
    UNLISTED = "unlisted"  # a report that was made after the attempt started does not list it
    REPORT_RUNNING = "report_running"  # a runner lists an attempt of it that runs
    REPORT_RESERVED = "report_reserved"  # a runner lists an attempt of it whose slot waits for a person
    REPORT_END = "report_end"  # a runner lists an attempt of it that has ended
    LEDGER_LOST = "ledger_lost"  # Redis was lost, or replaced by an old copy


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
    ENDED = "ended"  # of jobs by the time of their end


INDEXES: Final[Mapping[JobState, tuple[Index, ...]]] = {
    JobState.WAITING: (Index.LINE, Index.LATER),
    JobState.PLACED: (Index.SENT,),
    JobState.RUNNING: (),
    JobState.RESERVED: (Index.DUE,),
    JobState.CONFIRMED: (Index.LINE,),
    JobState.CANCELLING: (),
    JobState.UNKNOWN: (),
    JobState.DONE: (Index.ENDED,),
}
"""The indexes that can list a job of each state. A job that leaves the state leaves these."""


STOPPED: Final = (JobState.CANCELLING, JobState.DONE)
"""A runner that lists an attempt of a job of these states must stop or forget it."""
AS_REPORTED: Final = "as_reported"


@dataclass(frozen=True)
class Transition:
    """What an event does to a job. `state` None: the record does not change.

    `when`: facts that must all hold. `outcome`: the outcome of a job that ends; AS_REPORTED: the event's own.
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
    announce: bool = False

    def only(self, *facts: Fact) -> Transition:
        """Return the same transition, limited to events with these facts."""
        return replace(self, when=facts)


def _ended(outcome: str) -> Transition:
    return Transition(JobState.DONE, (), outcome, SlotChange.FREE, Key.HAND_ON, index=Index.ENDED, announce=True)


ACCEPTED: Final = Transition()
"""No change: the event has had its effect already."""
ENDED: Final = _ended(AS_REPORTED)
CANCELLED: Final = _ended("cancelled")
LOST: Final = _ended("lost")
LINED_UP: Final = Transition(index=Index.LINE)
WAITS: Final = Transition(JobState.WAITING, index=Index.LINE)
REQUEUED: Final = Transition(
    JobState.WAITING, slot=SlotChange.FREE, key=Key.HAND_ON, phase=PhaseChange.FIRST, plan=Plan.CLEAR, index=Index.LINE
)
"""Start again from the first phase: what a plan found is gone with its pod."""
PLACED: Final = Transition(JobState.PLACED, slot=SlotChange.RUN, key=Key.TAKE, attempt=Attempt.NEW, index=Index.SENT)
RESERVED: Final = Transition(
    JobState.RESERVED, slot=SlotChange.RESERVE, key=Key.HAND_ON, plan=Plan.SET, index=Index.DUE, announce=True
)
CONFIRMED: Final = Transition(JobState.CONFIRMED, phase=PhaseChange.NEXT)
RUNS: Final = Transition(
    JobState.RUNNING, slot=SlotChange.RUN, key=Key.TAKE, phase=PhaseChange.REPORTED, attempt=Attempt.REPORTED
)
IS_RESERVED: Final = Transition(
    JobState.RESERVED,
    slot=SlotChange.RESERVE,
    phase=PhaseChange.REPORTED,
    attempt=Attempt.REPORTED,
    plan=Plan.SET,
    index=Index.DUE,
)
REPORTED_END: Final = replace(ENDED, phase=PhaseChange.REPORTED, attempt=Attempt.REPORTED)

Rows = Mapping[JobState, tuple[Transition, ...]]
"""State -> transitions. The first one whose facts hold applies. A state that is missing here refuses the event."""

_ANY: Final = tuple(JobState)
_STARTED: Final[Rows] = {
    JobState.RUNNING: (REQUEUED.only(Fact.FIRST_PHASE, Fact.REPEATABLE), LOST),
    JobState.RESERVED: (REQUEUED,),
    JobState.CONFIRMED: (REQUEUED,),
    JobState.CANCELLING: (CANCELLED,),
}
"""Of a job that its runner or its pod has no more."""


def _reported(effect: Transition) -> Rows:
    """A report is the truth about its attempt, unless the ledger knows of it already or knows a later one."""
    later = effect.only(Fact.LATER_ATTEMPT)
    return {
        JobState.UNKNOWN: (effect,),
        JobState.WAITING: (effect,),
        JobState.PLACED: (effect.only(Fact.SAME_ATTEMPT), later),
        **dict.fromkeys((JobState.RUNNING, JobState.RESERVED, JobState.CONFIRMED, JobState.CANCELLING), (later,)),
    }


def _reported_end() -> Rows:
    """A success with a phase to come is no end: the report lists its reservation, or the phase that runs."""
    goes_on = (Fact.SUCCEEDED, Fact.MORE_PHASES)
    same, later = (Fact.SAME_ATTEMPT,), (Fact.LATER_ATTEMPT,)

    def rows(*conditions: tuple[Fact, ...]) -> tuple[Transition, ...]:
        accepted = tuple(replace(ACCEPTED, when=(*condition, *goes_on)) for condition in conditions)
        return (*accepted, *(replace(REPORTED_END, when=condition) for condition in conditions))

    return {
        JobState.UNKNOWN: rows(()),
        JobState.WAITING: rows(()),
        **{state: rows(same, later) for state in (JobState.PLACED, JobState.RESERVED, JobState.CONFIRMED)},
        JobState.RUNNING: (*_END[JobState.RUNNING], *rows(later)),
        JobState.CANCELLING: (*_END[JobState.CANCELLING], *rows(later)),
    }


_END: Final[Rows] = {
    JobState.RUNNING: (
        RESERVED.only(Fact.SAME_ATTEMPT, Fact.SUCCEEDED, Fact.MORE_PHASES, Fact.HAS_SLOT),
        ENDED.only(Fact.SAME_ATTEMPT),
    ),
    JobState.CANCELLING: (CANCELLED.only(Fact.SAME_ATTEMPT),),
}

LIFECYCLE: Final[Mapping[Event, Rows]] = {
    Event.SUBMIT: {JobState.UNKNOWN: (replace(WAITS, index=Index.LATER).only(Fact.DELAYED), WAITS)},
    Event.DELAY_OVER: {JobState.WAITING: (LINED_UP,)},
    Event.KEY_FREE: {JobState.WAITING: (LINED_UP,), JobState.CONFIRMED: (PLACED.only(Fact.HAS_SLOT), REQUEUED)},
    Event.PLACE: {JobState.WAITING: (PLACED,), JobState.CONFIRMED: (PLACED,)},
    Event.UNSENT: {
        JobState.PLACED: (
            replace(REQUEUED, index=Index.LATER).only(Fact.SAME_ATTEMPT, Fact.FIRST_PHASE),
            Transition(JobState.PLACED, index=Index.SENT).only(Fact.SAME_ATTEMPT),
        )
    },
    Event.RESEND: {
        JobState.PLACED: (
            Transition(index=Index.SENT).only(Fact.HAS_SLOT),
            REQUEUED.only(Fact.FIRST_PHASE),
            LOST,
        )
    },
    Event.START: {JobState.PLACED: (Transition(JobState.RUNNING).only(Fact.SAME_ATTEMPT, Fact.HAS_SLOT),)},
    Event.END: _END,
    Event.CONFIRM: {
        JobState.RESERVED: (CONFIRMED.only(Fact.HAS_SLOT), replace(LOST, phase=PhaseChange.NEXT)),
        JobState.DONE: (ACCEPTED.only(Fact.SUCCEEDED),),
        **dict.fromkeys((JobState.CONFIRMED, JobState.PLACED, JobState.RUNNING, JobState.CANCELLING), (ACCEPTED,)),
    },
    Event.CANCEL: {
        JobState.RUNNING: (Transition(JobState.CANCELLING),),
        JobState.CANCELLING: (ACCEPTED,),
        JobState.DONE: (ACCEPTED,),
        JobState.UNKNOWN: (CANCELLED,),
        **dict.fromkeys((JobState.WAITING, JobState.PLACED, JobState.RESERVED, JobState.CONFIRMED), (CANCELLED,)),
    },
    Event.EXPIRE: {JobState.RESERVED: (_ended("expired"),)},
    Event.LOSE: {**_STARTED, JobState.PLACED: (REQUEUED.only(Fact.FIRST_PHASE), LOST)},
    Event.UNLISTED: _STARTED,
    Event.REPORT_RUNNING: _reported(RUNS),
    Event.REPORT_RESERVED: _reported(IS_RESERVED),
    Event.REPORT_END: _reported_end(),
    Event.LEDGER_LOST: {
        state: (Transition(JobState.UNKNOWN, slot=SlotChange.FREE),) for state in _ANY if state is not JobState.DONE
    },
}


def transition(state: JobState, event: Event, facts: Collection[Fact] = ()) -> Transition | None:
    """Return what the event does to a job of that state; None: the event is refused."""
    rows = LIFECYCLE[event].get(state, ())
    return next((row for row in rows if set(facts).issuperset(row.when)), None)
