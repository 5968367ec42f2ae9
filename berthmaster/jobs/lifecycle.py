"""The life of a job: which events change its state, and what becomes of its slot, serial key and place in line.

The scripts of the ledger decide none of it. They receive this table as data and apply one row in an atomic step, if the
stored state is the row's state and the row's facts hold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Final

from berthmaster.jobs.job import JobState, Limit
from berthmaster.jobs.transition import (
    AS_REPORTED,
    Attempt,
    Fact,
    Index,
    Key,
    PhaseChange,
    Plan,
    SlotChange,
    Transition,
)


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
    OVERDUE = "overdue"  # the time of the limit is over that counts in its state
    LOSE = "lose"  # its pod is gone, or runs another job in its slot
    POD_ENDS = "pod_ends"  # its pod terminates, and may do so for ever: nothing starts there any more
    UNLISTED = "unlisted"  # a report that was made after the attempt started does not list it
    REPORT_RUNNING = "report_running"  # a runner lists an attempt of it that runs
    REPORT_RESERVED = "report_reserved"  # a runner lists an attempt of it whose slot waits for a person
    REPORT_END = "report_end"  # a runner lists an attempt of it that has ended
    LEDGER_LOST = "ledger_lost"  # Redis was lost, or replaced by an old copy


INDEXES: Final[Mapping[JobState, tuple[Index, ...]]] = {
    JobState.WAITING: (Index.LINE, Index.LATER),
    JobState.PLACED: (Index.SENT,),
    JobState.RUNNING: (),
    JobState.RESERVED: (Index.DUE,),
    JobState.CONFIRMED: (Index.LINE,),
    JobState.CANCELLING: (Index.STOPPING,),
    JobState.UNKNOWN: (),
    JobState.DONE: (Index.ENDED,),
}
"""The indexes that can list a job of each state. A job that leaves the state leaves these."""


IN_SLOT: Final[Mapping[JobState, SlotChange]] = {
    JobState.PLACED: SlotChange.RUN,
    JobState.RUNNING: SlotChange.RUN,
    JobState.CANCELLING: SlotChange.RUN,
    JobState.RESERVED: SlotChange.RESERVE,
    JobState.CONFIRMED: SlotChange.RESERVE,
}
"""What the slot of a job says, by the state of the job. A job of another state has no slot."""
STOPPED: Final = (JobState.CANCELLING, JobState.DONE)
"""A runner that lists an attempt of a job of these states must stop or forget it."""
KEY_HOLDERS: Final = (JobState.PLACED, JobState.RUNNING, JobState.CANCELLING)
"""The states in which a job can have its serial key."""
COUNTED: Final[Mapping[JobState, Limit]] = {
    JobState.WAITING: Limit.QUEUE,
    JobState.PLACED: Limit.QUEUE,
    JobState.RUNNING: Limit.RUN,
}
"""The limit whose time counts in each state, once a transition has begun it. A job that leaves for a state of another
limit, or of none, leaves its deadline."""


def _ended(outcome: str) -> Transition:
    return Transition(JobState.DONE, (), outcome, SlotChange.FREE, Key.HAND_ON, index=Index.ENDED, announce=True)


ACCEPTED: Final = Transition()
"""No change: the event has had its effect already."""
ENDED: Final = _ended(AS_REPORTED)
CANCELLED: Final = _ended("cancelled")
LOST: Final = _ended("lost")
STOPPING: Final = Transition(JobState.CANCELLING, index=Index.STOPPING)
"""Its runner is asked to stop it. Until then it keeps its slot and its serial key."""
TIMED_OUT: Final = _ended("timed_out")
QUEUED_TOO_LONG: Final = replace(TIMED_OUT, limit=Limit.QUEUE)
RAN_TOO_LONG: Final = replace(TIMED_OUT, limit=Limit.RUN)
LINED_UP: Final = Transition(index=Index.LINE)
WAITS: Final = Transition(JobState.WAITING, index=Index.LINE, begins=Limit.QUEUE)
REQUEUED: Final = Transition(
    JobState.WAITING, slot=SlotChange.FREE, key=Key.HAND_ON, phase=PhaseChange.FIRST, plan=Plan.CLEAR, index=Index.LINE
)
"""Start again from the first phase: what a plan found is gone with its pod."""
PLACED: Final = Transition(JobState.PLACED, slot=SlotChange.RUN, key=Key.TAKE, attempt=Attempt.NEW, index=Index.SENT)
RESERVED: Final = Transition(
    JobState.RESERVED, slot=SlotChange.RESERVE, key=Key.HAND_ON, plan=Plan.SET, index=Index.DUE, announce=True
)
RESERVED_UNRECORDED: Final = replace(RESERVED, slot=SlotChange.KEEP)
"""The record of its pod is lost: the next report of the runner gives the job its slot back."""
CONFIRMED: Final = Transition(JobState.CONFIRMED, phase=PhaseChange.NEXT)
RUNS: Final = Transition(
    JobState.RUNNING,
    slot=SlotChange.RUN,
    key=Key.TAKE,
    phase=PhaseChange.REPORTED,
    attempt=Attempt.REPORTED,
    begins=Limit.RUN,
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
    JobState.CANCELLING: (RAN_TOO_LONG.only(Fact.OVER_TIME), CANCELLED),
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
        RESERVED_UNRECORDED.only(Fact.SAME_ATTEMPT, Fact.SUCCEEDED, Fact.MORE_PHASES),
        ENDED.only(Fact.SAME_ATTEMPT),
    ),
    JobState.CANCELLING: (
        RAN_TOO_LONG.only(Fact.SAME_ATTEMPT, Fact.OVER_TIME),
        CANCELLED.only(Fact.SAME_ATTEMPT),
    ),
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
    Event.START: {
        JobState.PLACED: (Transition(JobState.RUNNING, begins=Limit.RUN).only(Fact.SAME_ATTEMPT, Fact.HAS_SLOT),)
    },
    Event.END: _END,
    Event.CONFIRM: {
        JobState.RESERVED: (CONFIRMED.only(Fact.HAS_SLOT), REQUEUED),
        JobState.DONE: (ACCEPTED.only(Fact.SUCCEEDED),),
        **dict.fromkeys((JobState.CONFIRMED, JobState.PLACED, JobState.RUNNING, JobState.CANCELLING), (ACCEPTED,)),
    },
    Event.CANCEL: {
        JobState.RUNNING: (STOPPING,),
        JobState.CANCELLING: (ACCEPTED,),
        JobState.DONE: (ACCEPTED,),
        JobState.UNKNOWN: (CANCELLED,),
        **dict.fromkeys((JobState.WAITING, JobState.PLACED, JobState.RESERVED, JobState.CONFIRMED), (CANCELLED,)),
    },
    Event.EXPIRE: {JobState.RESERVED: (replace(_ended("expired"), limit=Limit.RESERVATION),)},
    Event.OVERDUE: {
        JobState.WAITING: (QUEUED_TOO_LONG.only(Fact.LIMITED),),
        JobState.PLACED: (QUEUED_TOO_LONG.only(Fact.LIMITED),),
        JobState.RUNNING: (replace(STOPPING, limit=Limit.RUN).only(Fact.LIMITED),),
    },
    Event.LOSE: {**_STARTED, JobState.PLACED: (REQUEUED.only(Fact.FIRST_PHASE), LOST)},
    Event.POD_ENDS: {JobState.PLACED: (REQUEUED,)},
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
