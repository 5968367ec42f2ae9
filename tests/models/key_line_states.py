"""The states of the model of jobs behind one serial key."""

from __future__ import annotations

from typing import NamedTuple

from berthmaster.jobs.job import JobState
from berthmaster.jobs.lifecycle import Event
from tests.models.slot_table import NOBODY

TWO_WITH_KEY, TWO_IN_SLOT, TWICE, OVERTAKEN, HELD, UNSAID = (
    "two jobs of one serial key run at the same time",
    "two processes run in one slot",
    "a job takes effect twice",
    "a job is placed before one that was submitted earlier and waits",
    "a job that cannot be sent keeps its slot",
    "a job runs beside the one that has its serial key, and nobody is told",
)


class Flags(NamedTuple):
    faults: int = 1
    jobs: int = 3
    pods: int = 2
    classes: bool = False
    losses: bool = True  # records are lost
    urgent: bool = False  # once a job without the key comes that is placed before all others
    behind: bool = True  # who comes later waits behind those in the line, also while nobody has the key
    relined: bool = True  # who needs no key any more leaves its line at once
    restored: bool = True  # a report that lists a job without a record restores it
    idle: bool = True  # a report frees the slot of an attempt that is no job's and does not run
    truth: bool = True  # only a report frees such a slot, no sweep
    unowned: bool = True  # the sweep frees a key that is no job's
    deletions: bool = True  # somebody deletes who has the key
    retake: bool = True  # a report gives the key back to a job that runs
    beside: bool = True  # a key goes to who runs beside its last holder, before it goes to who waits
    says: bool = True  # a report names a job that runs while another has its key
    asks: bool = True  # a job without a record that has the key is not taken in anew
    without: tuple[tuple[Event, JobState], ...] = ()


class Job(NamedTuple):
    state: JobState = JobState.UNKNOWN
    attempt: int = 0
    pod: int = NOBODY


class Process(NamedTuple):
    """A process, or the message that may start it."""

    job: int
    attempt: int
    pod: int


class S(NamedTuple):
    faults: int
    jobs: tuple[Job, ...]
    slots: tuple[tuple[int, int] | None, ...]  # job, attempt
    submitted: int = 0
    attempts: int = 0
    key: int = NOBODY
    wait: frozenset[int] = frozenset()  # for a slot
    line: frozenset[int] = frozenset()  # for the key
    later: frozenset[int] = frozenset()
    sent: frozenset[int] = frozenset()
    messages: frozenset[Process] = frozenset()
    processes: frozenset[Process] = frozenset()
    satisfied: frozenset[int] = frozenset()
    effects: tuple[int, ...] = ()
    exclusive: bool = True
    deprived: frozenset[int] = frozenset()  # jobs whose key somebody has deleted
    unreported: frozenset[int] = frozenset()  # of these, whose runner has not reported since that it runs
    beside: frozenset[int] = frozenset()  # jobs that run while another has their key
    urgent: str = "possible"  # waits | runs | over
    bad: str = ""

    def less(self) -> S:
        return self._replace(faults=self.faults - 1)


Edge = tuple[str, str, S]


def runs_already(s: S) -> set[int]:
    return {process.job for process in s.processes} - s.unreported


def is_said(s: S) -> bool:
    unnamed = (s.deprived & runs_already(s)) - s.beside - {s.key}
    return not (s.exclusive and unnamed) or s.key == NOBODY


URGENT = (NOBODY, 0)
