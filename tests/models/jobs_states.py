"""The states of the model of jobs on slots."""

from __future__ import annotations

from typing import NamedTuple

from tests.models.slot_table import AttemptId, Ledger

TWO_PROCESSES, TWO_IN_SLOT, TWICE, NOT_ITS_SLOT, NO_SLOT = (
    "a job runs twice at the same time",
    "two jobs run in one slot",
    "a job takes effect twice, and no pod died with its outcome",
    "a process runs, and its slot does not say so",
    "a job is on a pod, and no slot of the pod says so",
)
PODS = JOBS = (0, 1)


class Flags(NamedTuple):
    faults: int = 1
    terminations: int = 0
    attempt: bool = True  # start and end name the attempt, and the slot says whose it is
    gone: bool = True  # the jobs of a silent runner are placed again when its pod is gone
    list: bool = True  # a runner reports its attempts; one that is missing is lost
    newer: bool = True  # only a report made after the start was granted counts against an attempt
    keep: bool = True  # the runner repeats an outcome until it is acknowledged
    retain: bool = True  # a record of an ended job outlives its client's retries, redelivery, and reports that are late
    reslot: bool = True  # a report that finds no record of its pod gives the jobs there their slots back
    regrant: bool = True  # such a slot counts as granted when it is given back
    onpods: bool = True  # the jobs of a pod that is gone are found also when its record was lost
    moves: bool = True  # what was placed on a pod and has not started is placed again once the pod terminates
    resend: bool = True  # the message of what was placed is sent until it starts, whoever placed it
    ends: bool = True


class Process(NamedTuple):
    job: int
    attempt: AttemptId
    runs: bool = True  # False: it has ended, and the outcome is not acknowledged


class Message(NamedTuple):
    pod: int
    job: int
    attempt: AttemptId


class Report(NamedTuple):
    items: frozenset[Process]
    late: bool = False  # a start was granted since


class Runner(NamedTuple):
    pod: str = "up"  # up | paused | gone | lost (terminates for ever)
    ending: bool = False
    silent: bool = False
    processes: frozenset[Process] = frozenset()
    report: Report | None = None


class S(NamedTuple):
    ledger: Ledger
    faults: int
    terminations: int
    clients: tuple[str, ...] = ("submits", "waits")  # then: knows
    submits: frozenset[int] = frozenset()  # jobs whose submission is on its way
    runners: tuple[Runner, Runner] = (Runner(), Runner())
    messages: frozenset[Message] = frozenset()
    ends: frozenset[tuple[int, AttemptId]] = frozenset()  # calls `finish` on their way
    effects: tuple[int, ...] = (0, 0)
    excused: frozenset[int] = frozenset()  # jobs whose outcome died with a pod
    orphans: frozenset[int] = frozenset()  # jobs whose process outlived its pod

    def less(self) -> S:
        return self._replace(faults=self.faults - 1)


Edge = tuple[str, str, S]


def work(s: S, k: int, **values: object) -> S:
    runner = s.runners[k]._replace(**values)  # type: ignore[arg-type]  # fields of a runner
    return s._replace(runners=(runner, s.runners[1]) if k == 0 else (s.runners[0], runner))
