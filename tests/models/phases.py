"""Jobs of two phases, plan and apply, by the real table of transitions: confirm, expire, cancel, one serial key.

Two jobs with one serial key, pods of one slot, and no sweep that places: what gives a slot or the key free must place.
A person confirms at any time or never, then the reservation runs out; somebody may cancel the first job. Faults,
`faults` in a run: the first pod is lost and replaced, its record is lost until its runner reports, a call of the first
job comes twice. Lost messages and late reports are in jobs.py.

Shows: no job has two processes, no slot two, the serial key one apply; each process runs in a slot that is its own; an
applied plan was confirmed by a person; what succeeds was applied; a confirmed job whose pod lives is not lost, and it
and a fresh reservation do not expire. In the end all jobs have
ended, and slots and key are free. A flag that is False is a rule taken away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from berthmaster.jobs.job import JobState
from berthmaster.jobs.lifecycle import STOPPED, Event, transition
from berthmaster.jobs.transition import Fact, Key, SlotChange, Transition
from tests.models.explore import ENV, SYS, Result, explore
from tests.models.slot_table import NO_RECORD, NOBODY, AttemptId, Details, Job, Ledger, Slot, SlotTable, loosened, put

TWO_PROCESSES, TWO_IN_SLOT, TWO_APPLIES, NOT_ITS_SLOT, NOT_CONFIRMED, EXPIRED, NOT_APPLIED, LOST = (
    "a job runs twice at the same time",
    "two processes run in one slot",
    "two jobs of one serial key apply at the same time",
    "a process runs, and its slot does not say so",
    "a plan is applied that nobody confirmed",
    "a confirmed job or a fresh reservation expires",
    "a job succeeds without its apply",
    "a confirmed job is lost although its pod lives",
)
JOBS = (0, 1)
LOSES = Transition(JobState.DONE, outcome="lost", slot=SlotChange.FREE, key=Key.HAND_ON)
APPLY = 1
RESERVED = (JobState.RESERVED, JobState.CONFIRMED)


class Flags(NamedTuple):
    faults: int = 1
    pods: int = 2
    attempt: bool = True  # start, end and deadline are of one attempt; expiry looks at the deadline in its script
    plan: bool = True  # a confirmation names the plan that the person saw
    clear: bool = True  # a confirmation ends the deadline, also when the job must wait for its serial key
    hold: bool = True  # a cancelled phase that runs keeps slot and key until it has stopped
    goeson: bool = True  # a plan that succeeds while the record of its pod is lost goes on to its apply
    rerun: bool = True  # a confirmed plan whose slot is not known runs again
    wakes: bool = True  # whatever frees a slot or the key gives it to the next; False: a cancellation does not


class Call(NamedTuple):
    """A message to a pod, a process on it, or a report of its end."""

    job: int
    phase: int
    attempt: AttemptId
    pod: int
    plan: AttemptId = (0, 0)
    outcome: str = ""


class S(NamedTuple):
    ledger: Ledger
    faults: int
    processes: frozenset[Call] = frozenset()
    messages: frozenset[Call] = frozenset()
    ends: frozenset[Call] = frozenset()
    confirms: frozenset[tuple[int, AttemptId]] = frozenset()  # on their way
    confirmed: frozenset[tuple[int, AttemptId]] = frozenset()  # plans that a person has seen and wants
    overdue: frozenset[int] = frozenset()
    scans: frozenset[int] = frozenset()  # without rule attempt: overdue when a scan looked
    cancel: str = "possible"  # asked | over
    bad: str = ""

    def less(self) -> S:
        return self._replace(faults=self.faults - 1)


Edge = tuple[str, str, S]


class Phases:
    def __init__(self, flags: Flags) -> None:
        self.flags = flags
        instead = {}
        if not flags.attempt:
            keys = [(Event.START, JobState.PLACED), (Event.END, JobState.RUNNING), (Event.END, JobState.CANCELLING)]
            instead = {key: loosened(*key) for key in keys}
        if not flags.clear and (row := transition(JobState.RESERVED, Event.EXPIRE)):
            instead[Event.EXPIRE, JobState.CONFIRMED] = (row,)
        if not flags.hold and (row := transition(JobState.PLACED, Event.CANCEL)):
            instead[Event.CANCEL, JobState.RUNNING] = (row,)
        if not flags.goeson:
            facts = (Fact.SAME_ATTEMPT, Fact.HAS_SLOT, Fact.SUCCEEDED, Fact.MORE_PHASES)
            rows = (transition(JobState.RUNNING, Event.END, facts), transition(JobState.RUNNING, Event.END, facts[:2]))
            instead[Event.END, JobState.RUNNING] = tuple(row for row in rows if row)
        if not flags.rerun and (row := transition(JobState.RESERVED, Event.CONFIRM, (Fact.HAS_SLOT,))):
            instead[Event.CONFIRM, JobState.RESERVED] = (row, LOSES)
        self.table = SlotTable((2, 2), exact=flags.attempt, instead=instead)
        self.cancels = replace(self.table, hands_on=flags.wakes)
        self.timed = RESERVED if not flags.clear else RESERVED[:1]

    def init(self) -> S:
        empty = Ledger((Job(JobState.WAITING),) * 2, (None,) * self.flags.pods)
        first = next(self.placed(empty))
        return self.changed(S(empty, self.flags.faults), first)

    def placed(self, ledger: Ledger) -> Iterator[Ledger]:
        """Every way in which the end of a script may place what waits."""
        waiting = [n for n in JOBS if ledger.jobs[n].state is JobState.WAITING]
        free = [k for k, slot in enumerate(ledger.slots) if slot is None]
        if not (waiting and free):
            yield ledger
        for n in waiting:
            for k in free:
                yield from self.placed(self.table.after(ledger, n, Event.PLACE, Details(pod=k)) or ledger)

    def changed(self, s: S, ledger: Ledger) -> S:
        """A new attempt has a message; a reservation that is over has no deadline."""
        news = [
            Call(n, job.phase, job.attempt, job.pod)
            for n, job in enumerate(ledger.jobs)
            if job.state is JobState.PLACED and job.attempt != s.ledger.jobs[n].attempt
        ]
        overdue = frozenset(n for n in s.overdue if ledger.jobs[n].state in self.timed)
        return s._replace(ledger=ledger, messages=s.messages | set(news), overdue=overdue)

    def script(self, s: S, label: str, ledger: Ledger, kind: str = SYS) -> Iterator[Edge]:
        for after in set(self.placed(ledger)):
            yield kind, label, self.changed(s, after)

    def step(self, s: S) -> Iterator[Edge]:
        for n in JOBS:
            yield from self.reservation(s, n, s.ledger.jobs[n])
        for message in s.messages:
            yield self.start(s, message)
        for process in s.processes:
            yield from self.process(s, process)
        for call in s.ends:
            yield from self.end(s, call)
        for n, plan in s.confirms:
            yield from self.confirm(s, n, plan)
        yield from self.cancel(s)
        if s.faults:
            yield from self.loss(s, 0)
        yield from self.records(s, 0)

    def start(self, s: S, message: Call) -> Edge:
        n, phase, attempt, k = message[:4]
        rest = s._replace(messages=s.messages - {message})
        here = s.ledger.jobs[n].pod == k
        ledger = self.table.after(s.ledger, n, Event.START, Details(attempt, phase)) if here else None
        if ledger is None:
            return SYS, f"pod {k} may not start phase {phase} of job {n}", rest
        process = message._replace(plan=s.ledger.jobs[n].plan)
        after = self.changed(rest, ledger)._replace(processes=s.processes | {process})
        return SYS, f"pod {k} starts phase {phase} of job {n}, attempt {attempt}", after

    def process(self, s: S, process: Call) -> Iterator[Edge]:
        stops = s.ledger.jobs[process.job].state in STOPPED  # as the answer to a report says
        for outcome, kind in (("succeeded", SYS), ("failed", ENV), *([("cancelled", SYS)] if stops else [])):
            ended = s._replace(processes=s.processes - {process}, ends=s.ends | {process._replace(outcome=outcome)})
            yield kind, f"phase {process.phase} of job {process.job} {outcome}, attempt {process.attempt}", ended

    def end(self, s: S, call: Call) -> Iterator[Edge]:
        n, phase, attempt = call[:3]
        details = Details(attempt, s.ledger.jobs[n].phase, outcome=call.outcome)
        ledger = self.table.after(s.ledger, n, Event.END, details)
        label = f"the end of phase {phase} of job {n}, attempt {attempt}, is {'taken' if ledger else 'refused'}"
        yield from self.script(s._replace(ends=s.ends - {call}), label, ledger or s.ledger)
        if s.faults and n == 0:
            yield from self.script(s.less(), f"{label}, and will come again", ledger or s.ledger, ENV)

    def reservation(self, s: S, n: int, job: Job) -> Iterator[Edge]:
        if job.state is JobState.RESERVED and (n, job.plan) not in s.confirmed:
            seen = s._replace(confirms=s.confirms | {(n, job.plan)}, confirmed=s.confirmed | {(n, job.plan)})
            yield ENV, f"a person confirms plan {job.plan} of job {n}", seen
        if job.state in self.timed and n not in s.overdue:
            yield SYS, f"the time of job {n} is over", s._replace(overdue=s.overdue | {n})
        if n in s.overdue and self.flags.attempt:
            yield from self.expire(s, n, job)
        elif n in s.overdue and n not in s.scans:
            yield SYS, f"a scan finds job {n} overdue", s._replace(scans=s.scans | {n})
        if n in s.scans:
            yield from self.expire(s._replace(scans=s.scans - {n}), n, job)

    def expire(self, s: S, n: int, job: Job) -> Iterator[Edge]:
        ledger = self.table.after(s.ledger, n, Event.EXPIRE)
        wrong = ledger and (job.state is JobState.CONFIRMED or n not in s.overdue)
        after = s._replace(bad=EXPIRED) if wrong else s
        yield from self.script(after, f"the reservation of job {n} expires", ledger or s.ledger)

    def confirm(self, s: S, n: int, plan: AttemptId) -> Iterator[Edge]:
        ledger = self.confirmation(s.ledger, n, plan)
        is_lost = s.ledger.jobs[n].state is JobState.RESERVED and ledger and ledger.jobs[n].outcome == "lost"
        s = s._replace(bad=LOST) if is_lost else s
        label = f"the confirmation of plan {plan} of job {n} is {'taken' if ledger else 'refused'}"
        yield from self.script(s._replace(confirms=s.confirms - {(n, plan)}), label, ledger or s.ledger)
        if s.faults and n == 0:
            yield from self.script(s.less(), f"{label}, and will come again", ledger or s.ledger, ENV)

    def confirmation(self, ledger: Ledger, n: int, plan: AttemptId) -> Ledger | None:
        """What the script `confirm` does: the next phase runs at once unless another job has the serial key."""
        if self.flags.plan and ledger.jobs[n].plan != plan:
            return None
        after = self.table.after(ledger, n, Event.CONFIRM)
        if after is None or after.key not in (n, NOBODY) or after.jobs[n].state is not JobState.CONFIRMED:
            return after
        return self.table.after(after, n, Event.PLACE) or after

    def cancel(self, s: S) -> Iterator[Edge]:
        if s.cancel == "possible":
            yield ENV, "somebody cancels job 0", s._replace(cancel="asked")
        elif s.cancel == "asked":
            over, ledger = s._replace(cancel="over"), self.cancels.after(s.ledger, 0, Event.CANCEL) or s.ledger
            if self.flags.wakes:
                yield from self.script(over, "job 0 is cancelled", ledger)
            else:
                yield SYS, "job 0 is cancelled, and nothing is placed", self.changed(over, ledger)

    def loss(self, s: S, k: int) -> Iterator[Edge]:
        """Processes and queue end with the pod."""
        processes, messages = (frozenset(c for c in calls if c.pod != k) for calls in (s.processes, s.messages))
        without = s.less()._replace(processes=processes, messages=messages)
        yield from self.script(without, f"pod {k} is gone, a new one comes", self.table.removed(s.ledger, k), ENV)

    def records(self, s: S, k: int) -> Iterator[Edge]:
        """What a start that was refused meanwhile has lost is sent again."""
        slot = s.ledger.slots[k]
        if s.faults and slot not in (None, NO_RECORD):
            ledger = s.ledger._replace(slots=put(s.ledger.slots, k, NO_RECORD))
            yield ENV, f"the record of pod {k} is lost", s.less()._replace(ledger=ledger)
        if slot == NO_RECORD:
            ledger = self.table.recorded(s.ledger, k)
            for _, label, after in self.script(s, f"the runner of pod {k} reports", ledger):
                yield SYS, label, after._replace(messages=after.messages | set(unstarted(after.ledger, k)))

    def rules(self) -> dict[str, Callable[[S], bool]]:
        return {
            NOT_CONFIRMED: lambda s: all(p.phase != APPLY or (p.job, p.plan) in s.confirmed for p in s.processes),
            TWO_APPLIES: lambda s: sum(p.phase == APPLY for p in s.processes) <= 1,
            TWO_IN_SLOT: lambda s: len({p.pod for p in s.processes}) == len(s.processes),
            TWO_PROCESSES: lambda s: len({p.job for p in s.processes}) == len(s.processes),
            NOT_ITS_SLOT: lambda s: all(
                s.ledger.slots[p.pod] in (Slot(p.job, p.attempt), NO_RECORD) for p in s.processes
            ),
            NOT_APPLIED: lambda s: all(job.outcome != "succeeded" or job.phase == APPLY for job in s.ledger.jobs),
            EXPIRED: lambda s: s.bad != EXPIRED,
            LOST: lambda s: s.bad != LOST,
        }


def unstarted(ledger: Ledger, k: int) -> Iterator[Call]:
    for n, job in enumerate(ledger.jobs):
        if job.state is JobState.PLACED and job.pod == k:
            yield Call(n, job.phase, job.attempt, k)


def settled(s: S) -> bool:
    ended = all(job.state is JobState.DONE for job in s.ledger.jobs)
    return ended and not any(s.ledger.slots) and s.ledger.key == NOBODY and not s.processes


def check(flags: Flags, *names: str) -> Result:
    """Explore with the rules of these names, or with all."""
    model = Phases(flags)
    rules = {name: rule for name, rule in model.rules().items() if not names or name in names}
    return explore(model.init(), model.step, rules, settled)
