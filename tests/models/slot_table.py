"""The ledger of slots as models see it: pods of one slot each, and the real table of transitions applied to their jobs.

What `berthmaster/jobs/lua/lib/apply.lua` does with a row of `berthmaster/jobs/lifecycle.py` is done here without Redis.
A model takes a rule away by rows of its own (`instead`). Attempts are numbered a job; two incarnations may use one
number, and only `unique` tells such attempts apart.

Delayed jobs, messages that cannot be sent, and first phases behind a serial key are in key_line.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from berthmaster.jobs.job import JobState, Limit
from berthmaster.jobs.lifecycle import COUNTED, IN_SLOT, Event, transition
from berthmaster.jobs.transition import AS_REPORTED, Attempt, Fact, Key, PhaseChange, Plan, SlotChange, Transition

AttemptId = tuple[int, int]  # incarnation, number
NO_ATTEMPT: AttemptId = (0, 0)
NOBODY = -1
ON_A_POD = (JobState.PLACED, JobState.RUNNING, JobState.RESERVED, JobState.CONFIRMED, JobState.CANCELLING)
Item = TypeVar("Item")


class Job(NamedTuple):
    state: JobState = JobState.UNKNOWN
    phase: int = 0
    attempt: AttemptId = NO_ATTEMPT
    pod: int = NOBODY
    plan: AttemptId = NO_ATTEMPT
    outcome: str = ""
    limit: Limit | None = None
    counts: Limit | None = None  # whose time runs


class Slot(NamedTuple):
    job: int
    attempt: AttemptId


NO_RECORD = Slot(NOBODY, (-1, -1))
"""In place of the slot of a pod whose record is lost: nothing is placed there, and no job has it."""


class Ledger(NamedTuple):
    jobs: tuple[Job, ...]
    slots: tuple[Slot | None, ...]  # of each pod
    key: int = NOBODY  # the job that has the serial key
    incarnation: int = 0


class Details(NamedTuple):
    """What an event says beside its name."""

    attempt: AttemptId = NO_ATTEMPT
    phase: int = 0
    pod: int = NOBODY
    outcome: str = ""


def put(items: tuple[Item, ...], at: int, item: Item) -> tuple[Item, ...]:
    return (*items[:at], item, *items[at + 1 :])


@dataclass(frozen=True)
class SlotTable:
    """`phases`: how many each job has; a later phase needs the serial key. `exact`: a slot names the attempt in it.
    `hands_on`: who frees the serial key gives it to the next. `limited`: jobs have a time limit in each state.
    """

    phases: tuple[int, ...]
    exact: bool = True
    unique: bool = True
    hands_on: bool = True
    limited: bool = False
    instead: Mapping[tuple[Event, JobState], tuple[Transition, ...]] = field(default_factory=dict)

    def after(self, ledger: Ledger, n: int, event: Event, details: Details | None = None) -> Ledger | None:
        """Return the ledger after the event; None: the job's state refuses it. A submitted job begins anew."""
        row = self.row(ledger, n, event, details or Details())
        if event is Event.SUBMIT and row:
            ledger = ledger._replace(jobs=put(ledger.jobs, n, Job(attempt=ledger.jobs[n].attempt)))
        return self.apply(ledger, n, row, details or Details()) if row else None

    def row(self, ledger: Ledger, n: int, event: Event, details: Details) -> Transition | None:
        facts, state = self.facts(ledger, n, details), ledger.jobs[n].state
        rows = self.instead.get((event, state))
        if rows is None:
            return transition(state, event, facts)
        return next((row for row in rows if facts.issuperset(row.when)), None)

    def facts(self, ledger: Ledger, n: int, details: Details) -> set[Fact]:
        job = ledger.jobs[n]
        holds = {
            Fact.FIRST_PHASE: job.phase == 0,
            Fact.MORE_PHASES: details.phase + 1 < self.phases[n],
            Fact.HAS_SLOT: job.pod != NOBODY and self.has_slot(ledger.slots[job.pod], n, job.attempt),
            Fact.REPEATABLE: True,
            Fact.SUCCEEDED: "succeeded" in (details.outcome, job.outcome),
            Fact.SAME_ATTEMPT: self.is_same(job.attempt, details.attempt),
            Fact.LATER_ATTEMPT: self.is_older(job.attempt, details.attempt),
            Fact.LIMITED: job.counts is not None,
            Fact.OVER_TIME: job.limit is not None,
        }
        return {fact for fact, is_true in holds.items() if is_true}

    def has_slot(self, slot: Slot | None, n: int, attempt: AttemptId) -> bool:
        return slot == Slot(n, attempt) if self.exact else slot is not None

    def is_same(self, one: AttemptId, other: AttemptId) -> bool:
        return one == other if self.unique else one[1] == other[1]

    def is_older(self, one: AttemptId, other: AttemptId) -> bool:
        return one < other if self.unique else one[1] < other[1]

    def apply(self, ledger: Ledger, n: int, row: Transition, details: Details) -> Ledger:
        """Apply a row, then that of the job that gets the serial key."""
        if row.state:
            ledger = self.changed(ledger, n, row, row.state, details)
        if row.key is not Key.HAND_ON or self.phases[n] == 1 or ledger.key not in (n, NOBODY):
            return ledger
        ledger = ledger._replace(key=NOBODY)
        heirs = [at for at, job in enumerate(ledger.jobs) if self.hands_on and job.state is JobState.CONFIRMED]
        return (self.after(ledger, heirs[0], Event.KEY_FREE) if heirs else None) or ledger

    def changed(self, ledger: Ledger, n: int, row: Transition, state: JobState, details: Details) -> Ledger:
        moves = NOBODY not in (ledger.jobs[n].pod, details.pod) and ledger.jobs[n].pod != details.pod
        if row.slot is SlotChange.FREE or moves:
            ledger = self.freed(ledger, n)
        job = ledger.jobs[n]
        new = (ledger.incarnation, job.attempt[1] + 1)
        attempt = {Attempt.KEEP: job.attempt, Attempt.NEW: new, Attempt.REPORTED: details.attempt}[row.attempt]
        phases = {PhaseChange.KEEP: job.phase, PhaseChange.FIRST: 0, PhaseChange.NEXT: job.phase + 1}
        phase = phases.get(row.phase, details.phase)
        plan = {Plan.KEEP: job.plan, Plan.SET: attempt, Plan.CLEAR: NO_ATTEMPT}[row.plan]
        outcome = details.outcome if row.outcome == AS_REPORTED else row.outcome or job.outcome
        pod = job.pod if details.pod == NOBODY else details.pod
        slots, key = ledger.slots, ledger.key
        if row.slot in (SlotChange.RUN, SlotChange.RESERVE):
            slots = put(slots, pod, Slot(n, attempt))
        else:
            pod = job.pod
        if row.key is Key.TAKE and phase > 0 and key == NOBODY:
            key = n
        job = Job(state, phase, attempt, pod, plan, outcome, row.limit, self.counting(ledger.jobs[n], state, row))
        return Ledger(put(ledger.jobs, n, job), slots, key, ledger.incarnation)

    def counting(self, before: Job, state: JobState, row: Transition) -> Limit | None:
        """What `lib/limits.lua` does: which limit's time runs after the row."""
        if not self.limited or row.begins:
            return row.begins if self.limited else None
        return before.counts if COUNTED.get(before.state) is COUNTED.get(state) else None

    def freed(self, ledger: Ledger, n: int) -> Ledger:
        job, slots = ledger.jobs[n], ledger.slots
        slot = slots[job.pod] if job.pod != NOBODY else None
        if slot and (not self.exact or slot == Slot(n, job.attempt)):
            slots = put(slots, job.pod, None)
        return ledger._replace(jobs=put(ledger.jobs, n, job._replace(pod=NOBODY)), slots=slots)

    def recorded(self, ledger: Ledger, pod: int) -> Ledger:
        """The record of the pod is made anew, with the slot of the job that names the pod."""
        there = [n for n, job in enumerate(ledger.jobs) if job.pod == pod and job.state in IN_SLOT]
        slot = Slot(there[0], ledger.jobs[there[0]].attempt) if there else None
        return ledger._replace(slots=put(ledger.slots, pod, slot))

    def removed(self, ledger: Ledger, pod: int) -> Ledger:
        """The pod is gone: its jobs are those that name it, whatever its slot says."""
        for n, job in enumerate(ledger.jobs):
            if job.pod == pod:
                ledger = self.after(ledger, n, Event.LOSE) or ledger
        return ledger._replace(slots=put(ledger.slots, pod, None))

    def without_pod(self, ledger: Ledger, pod: int, event: Event = Event.LOSE) -> Ledger:
        """The pod is gone, or its runner does not list the job of its slot."""
        slot = ledger.slots[pod]
        if slot is None or slot == NO_RECORD or ledger.jobs[slot.job].attempt != slot.attempt:
            return ledger
        return self.after(ledger, slot.job, event) or ledger


def jobs_have_slots(ledger: Ledger) -> bool:
    there = ((n, job, ledger.slots[job.pod]) for n, job in enumerate(ledger.jobs) if job.state in IN_SLOT)
    return all(slot in (Slot(n, job.attempt), NO_RECORD) for n, job, slot in there)


def loosened(event: Event, state: JobState) -> tuple[Transition, ...]:
    """The first row of the table that is about the stored attempt, for whichever attempt the event names."""
    facts = (Fact.SAME_ATTEMPT, Fact.HAS_SLOT, Fact.SUCCEEDED, Fact.MORE_PHASES)
    rows = (transition(state, event, facts), transition(state, event, facts[:2]))
    loose = [row.only(*(fact for fact in row.when if fact is not Fact.SAME_ATTEMPT)) for row in rows if row]
    return tuple(dict.fromkeys(loose))
