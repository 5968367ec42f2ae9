"""Jobs behind one serial key, by the real table of transitions: the lines, delays, messages, and records that are lost.

Jobs of one phase that needs the key, numbered in the order of their submission, on pods of one slot. Each script places
at its end. Faults, `faults` in a run: a message is lost or cannot be sent, a job may be placed only later, the record
of a job is lost or broken, somebody deletes who has the key (not both of one job, which may then run twice); once a
pod comes whose slots take the phase without the key (`classes`). A runner's report is one step with its answer; what
late reports do is in jobs.py.

Shows: the key has one job at a time, but for one that starts before the runner of a deprived job has reported; a slot
has one process; no job is placed before one that waits in a line and was submitted earlier; what cannot be sent keeps
neither slot nor key; a lost record makes no job take effect twice. In the end all clients have seen their job's end,
and slots and key are free. A flag that is False is a rule taken away, and `without` are rows taken from the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from berthmaster.jobs.job import JobState
from berthmaster.jobs.lifecycle import KEY_HOLDERS, Event, transition
from berthmaster.jobs.transition import Attempt, Fact, Index, Key, SlotChange, Transition
from tests.models.explore import ENV, SYS, Result, explore
from tests.models.key_line_states import (
    HELD,
    OVERTAKEN,
    TWICE,
    TWO_IN_SLOT,
    TWO_WITH_KEY,
    UNSAID,
    URGENT,
    Edge,
    Flags,
    Job,
    Process,
    S,
    is_said,
    runs_already,
)
from tests.models.slot_table import NOBODY, put


class KeyLine:
    def __init__(self, flags: Flags) -> None:
        self.flags = flags

    def init(self) -> S:
        n = self.flags.jobs
        return S(self.flags.faults, (Job(),) * n, (None,) * self.flags.pods, effects=(0,) * n)

    # ---- the table, as lua/lib/apply.lua has it

    def row(self, s: S, n: int, event: Event, *facts: Fact) -> Transition | None:
        state = s.jobs[n].state
        return None if (event, state) in self.flags.without else transition(state, event, facts)

    def apply(self, s: S, n: int, row: Transition | None, attempt: int = 0, pod: int = NOBODY) -> S:
        if row is None:
            return s
        if row.state:
            s = self.changed(s, n, row, row.state, attempt, pod)
        if row.index is Index.LINE:
            s = self.lined_up(s, n)
        elif row.index is Index.LATER:
            s = s._replace(later=s.later | {n})
        elif row.index is Index.SENT:
            s = s._replace(sent=s.sent | {n})
        return self.handed_on(s) if row.key is Key.HAND_ON and s.key in (n, NOBODY) else s

    def changed(self, s: S, n: int, row: Transition, state: JobState, attempt: int, pod: int) -> S:
        job, one = s.jobs[n], {n}
        s = s._replace(wait=s.wait - one, line=s.line - one, later=s.later - one, sent=s.sent - one)
        if row.slot is SlotChange.FREE:
            if job.pod != NOBODY and s.slots[job.pod] == (n, job.attempt):
                s = s._replace(slots=put(s.slots, job.pod, None))
            job = job._replace(pod=NOBODY)
        if row.attempt is Attempt.NEW:
            s = s._replace(attempts=s.attempts + 1)
            job = job._replace(attempt=s.attempts)
        elif row.attempt is Attempt.REPORTED:
            job = job._replace(attempt=attempt)
        if row.slot is SlotChange.RUN:
            job = job._replace(pod=pod)
            s = s._replace(slots=put(s.slots, pod, (n, job.attempt)))
        if row.key is Key.TAKE and s.exclusive and s.key == NOBODY:
            s = s._replace(key=n)
        return s._replace(jobs=put(s.jobs, n, job._replace(state=state)))

    def must_wait(self, s: S, n: int) -> bool:
        if not s.exclusive or s.key == n:
            return False
        return s.key != NOBODY or (self.flags.behind and any(other < n for other in s.line))

    def lined_up(self, s: S, n: int) -> S:
        return s._replace(line=s.line | {n}) if self.must_wait(s, n) else s._replace(wait=s.wait | {n})

    def handed_on(self, s: S) -> S:
        """To who runs beside it, else to the first of the line that can go on."""
        s = self.given(s._replace(key=NOBODY))
        if s.key != NOBODY:
            return s
        while s.line:
            first = min(s.line)
            s = s._replace(line=s.line - {first})
            if row := self.row(s, first, Event.KEY_FREE):
                return self.apply(s, first, row)
        return s

    def given(self, s: S) -> S:
        """What lua/lib/give_key.lua does: to a job that runs beside the last holder."""
        others = [n for n in sorted(s.beside) if s.jobs[n].state in KEY_HOLDERS]
        if not self.flags.beside or s.key != NOBODY or not others:
            return s
        return s._replace(key=others[0], beside=s.beside - {others[0]})

    def advanced(self, s: S) -> S:
        """What lua/lib/advance_key_line.lua does."""
        s = self.given(s)
        is_free = s.key == NOBODY
        for n in sorted(s.line):
            waits = s.exclusive and s.jobs[n].state is not JobState.UNKNOWN
            if not waits or is_free:
                is_free = is_free and not waits
                s = self.apply(s._replace(line=s.line - {n}), n, self.row(s, n, Event.KEY_FREE))
        return s

    def placed(self, s: S) -> S:
        """The end of each script."""
        if s.urgent == "waits" and None in s.slots:
            s = s._replace(urgent="runs", slots=put(s.slots, s.slots.index(None), URGENT))
        while s.wait:
            n, free = min(s.wait), [k for k, slot in enumerate(s.slots) if slot is None]
            row = self.row(s, n, Event.PLACE)
            if row is None:
                s = s._replace(wait=s.wait - {n})
            elif not free:
                return s
            elif self.must_wait(s, n):
                s = s._replace(wait=s.wait - {n}, line=s.line | {n})
            else:
                s = s._replace(bad=TWO_WITH_KEY) if s.exclusive and s.deprived and runs_already(s) - {n} else s
                early = any(m < n and s.jobs[m].state is JobState.WAITING for m in s.line)
                s = self.apply(s._replace(bad=OVERTAKEN if early else s.bad), n, row, pod=free[0])
                s = s._replace(messages=s.messages | {Process(n, s.jobs[n].attempt, free[0])})
        return s

    # ---- what may happen

    def step(self, s: S) -> Iterator[Edge]:
        for n in range(min(s.submitted + 1, self.flags.jobs)):
            yield from self.client(s, n, s.jobs[n])
            yield from self.record(s, n, s.jobs[n])
        if self.flags.deletions and s.faults and s.key != NOBODY and s.jobs[s.key].state in KEY_HOLDERS:
            one = {s.key}
            after = s.less()._replace(key=NOBODY, deprived=s.deprived | one, unreported=s.unreported | one)
            yield ENV, f"somebody deletes that job {s.key} has the key", after
        yield from self.runners(s)
        if (after := self.swept(s)) != s:
            yield SYS, "a sweep", after
        yield from self.others(s)

    def runners(self, s: S) -> Iterator[Edge]:
        for message in s.messages:
            yield from self.message(s, message)
        for process in s.processes:
            yield SYS, f"{process} ends", self.ended(s, process)
        for k in range(self.flags.pods):
            if (after := self.reported(s, k)) != s:
                yield SYS, f"pod {k} reports", after

    def others(self, s: S) -> Iterator[Edge]:
        if self.flags.urgent and s.urgent == "possible":
            yield ENV, "an urgent job is submitted", self.placed(s._replace(urgent="waits"))
        if s.urgent == "runs":
            slots = put(s.slots, s.slots.index(URGENT), None)
            yield SYS, "the urgent job ends", self.placed(s._replace(urgent="over", slots=slots))
        if self.flags.classes and s.exclusive:
            after = s._replace(exclusive=False)
            yield ENV, "a pod comes that needs no key", self.advanced(after) if self.flags.relined else after

    def client(self, s: S, n: int, job: Job) -> Iterator[Edge]:
        doubtful = self.flags.asks and s.key == n
        if job.state is JobState.UNKNOWN and n not in s.satisfied and not doubtful:
            after = s._replace(submitted=max(s.submitted, n + 1))
            new = self.apply(after, n, self.row(s, n, Event.SUBMIT))
            yield SYS, f"job {n} is submitted", self.placed(new)
            if s.faults:
                delayed = self.apply(after.less(), n, self.row(s, n, Event.SUBMIT, Fact.DELAYED))
                yield ENV, f"job {n} is submitted for later", self.placed(delayed)
        if job.state is JobState.DONE and n not in s.satisfied:
            yield SYS, f"the client of job {n} sees its end", s._replace(satisfied=s.satisfied | {n})

    def record(self, s: S, n: int, job: Job) -> Iterator[Edge]:
        if n in s.later:
            over = self.apply(s._replace(later=s.later - {n}), n, self.row(s, n, Event.DELAY_OVER))
            yield SYS, f"the time of job {n} has come", self.placed(over)
        message = Process(n, job.attempt, job.pod)
        row = self.row(s, n, Event.RESEND, Fact.HAS_SLOT, Fact.FIRST_PHASE)
        if n in s.sent and row and message not in s.messages:
            yield SYS, f"{message} is sent again", self.apply(s, n, row)._replace(messages=s.messages | {message})
        lasting = job.state in (JobState.UNKNOWN, JobState.DONE) or n in s.deprived
        if self.flags.losses and s.faults and not lasting:
            yield ENV, f"the record of job {n} is lost", s.less()._replace(jobs=put(s.jobs, n, Job()))

    def message(self, s: S, message: Process) -> Iterator[Edge]:
        n, attempt, pod = message
        job, rest = s.jobs[n], s._replace(messages=s.messages - {message})
        is_its_own = job == Job(JobState.PLACED, attempt, pod) and s.slots[pod] == (n, attempt)
        row = self.row(s, n, Event.START, Fact.SAME_ATTEMPT, Fact.HAS_SLOT) if is_its_own else None
        started = self.apply(rest, n, row)
        yield SYS, f"{message} arrives", started._replace(processes=s.processes | {message}) if row else rest
        if s.faults:
            yield ENV, f"{message} is lost", rest.less()
        if s.faults and is_its_own:
            undone = self.apply(rest.less(), n, self.row(s, n, Event.UNSENT, Fact.SAME_ATTEMPT, Fact.FIRST_PHASE))
            held = undone.slots[pod] == (n, attempt)
            yield ENV, f"{message} cannot be sent", self.placed(undone._replace(bad=HELD if held else s.bad))

    def ended(self, s: S, process: Process) -> S:
        """The runner says so until it is acknowledged; a report has the request of a job that is not known any more."""
        n, attempt, _ = process
        s = s._replace(processes=s.processes - {process}, effects=put(s.effects, n, min(2, s.effects[n] + 1)))
        job = s.jobs[n]
        same = (Fact.SAME_ATTEMPT,) if job.attempt == attempt else ()
        row = self.row(s, n, Event.END, *same, Fact.SUCCEEDED)
        if row is None and (self.flags.restored or job.state is not JobState.UNKNOWN):
            row = self.row(s, n, Event.REPORT_END, *same, Fact.SUCCEEDED)
        return self.placed(self.apply(s, n, row, attempt))

    def reported(self, s: S, pod: int) -> S:
        """What the script `report` does, and the runner with its answer."""
        for process in [process for process in s.processes if process.pod == pod]:
            n, attempt, _ = process
            job = s.jobs[n]
            if job.state is not JobState.UNKNOWN or self.flags.restored:
                later = (Fact.LATER_ATTEMPT,) if job.attempt < attempt else ()
                s = self.apply(s, n, self.row(s, n, Event.REPORT_RUNNING, *later), attempt, pod)
            if s.jobs[n].state is not JobState.UNKNOWN and s.jobs[n].attempt != attempt:
                s = s._replace(processes=s.processes - {process})
            elif s.jobs[n].state in KEY_HOLDERS and s.exclusive:
                s = self.retaken(s, n)
        slot, runs = s.slots[pod], {process[:2] for process in s.processes if process.pod == pod}
        if self.flags.idle and slot and slot not in runs and not self.is_its_own(s, pod):
            s = s._replace(slots=put(s.slots, pod, None))
        return self.placed(s)

    def retaken(self, s: S, n: int) -> S:
        """The key of a job that its runner runs: it has the key, or it is named."""
        s = s._replace(unreported=s.unreported - {n})
        if s.key == NOBODY and self.flags.retake:
            return s._replace(key=n)
        return s._replace(beside=s.beside | {n}) if s.key not in (n, NOBODY) and self.flags.says else s

    def is_its_own(self, s: S, pod: int) -> bool:
        slot = s.slots[pod]
        return slot is None or slot == URGENT or (s.jobs[slot[0]].attempt, s.jobs[slot[0]].pod) == (slot[1], pod)

    def swept(self, s: S) -> S:
        if not self.flags.truth:
            s = s._replace(slots=tuple(slot if self.is_its_own(s, k) else None for k, slot in enumerate(s.slots)))
        over = {n for n in s.beside if s.jobs[n].state not in KEY_HOLDERS or s.key == n}
        s = s._replace(beside=s.beside - over)
        owned = s.key == NOBODY or s.jobs[s.key].state in KEY_HOLDERS
        if self.flags.unowned and not owned and not any(slot and slot[0] == s.key for slot in s.slots):
            s = s._replace(key=NOBODY)
        return self.placed(self.advanced(s))

    def rules(self) -> dict[str, Callable[[S], bool]]:
        return {
            TWO_WITH_KEY: lambda s: (
                s.bad != TWO_WITH_KEY
                and (not s.exclusive or len({process.job for process in s.processes} - s.deprived) <= 1)
            ),
            UNSAID: is_said,
            TWO_IN_SLOT: lambda s: len({process.pod for process in s.processes}) == len(s.processes),
            TWICE: lambda s: max(s.effects) <= 1,
            **{name: partial(is_not, name) for name in (OVERTAKEN, HELD)},
        }

    def settled(self, s: S) -> bool:
        return len(s.satisfied) == self.flags.jobs and not any(s.slots) and s.key == NOBODY and not s.processes


def is_not(bad: str, s: S) -> bool:
    return s.bad != bad


def check(flags: Flags) -> Result:
    model = KeyLine(flags)
    return explore(model.init(), model.step, model.rules(), model.settled)
