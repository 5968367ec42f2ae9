"""Time limits of jobs, by the real table of transitions: until their first start, and of each attempt.

Two jobs of one phase with both limits, one pod of one slot, and processes that hang: they end only if their runner
stops them, or by chance. Time may be over at any moment, and a sweep may come at any later one. Somebody may cancel the
first job. Faults, `faults` in a run: the pod is lost and replaced, Redis is lost. After a loss of Redis the runner
reports and clients submit their jobs again, in any order.

Shows: no job has two processes, no slot two, and each process runs in a slot that is its own; the limit of the queue
ends no job that has started since it was submitted; a limit ends only what its own time was over for; the end of a job
says what has stopped it first. In the end all jobs have ended, and all slots are free, although every process hangs. A
flag that is False is a rule taken away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from berthmaster.jobs.job import JobState, Limit
from berthmaster.jobs.lifecycle import QUEUED_TOO_LONG, STOPPED, STOPPING, Event, transition
from berthmaster.jobs.transition import Fact
from tests.models.explore import ENV, SYS, Result, explore
from tests.models.slot_table import AttemptId, Details, Job, Ledger, Slot, SlotTable

TWO_PROCESSES, NOT_ITS_SLOT, HAS_STARTED, IN_TIME, OTHER_REASON = (
    "a job runs twice at the same time",
    "a process runs, and its slot does not say so",
    "the limit of the queue ends a job that has started",
    "a limit ends what is not over its time",
    "the end of a job does not say what has stopped it first",
)
JOBS = (0, 1)
POD = 0


class Flags(NamedTuple):
    faults: int = 1
    limits: bool = True  # a job that is over its time ends; False: nothing ends it
    runlimit: bool = True  # an attempt over its time keeps its slot until its runner has stopped it
    queuelimit: bool = True  # the limit of the queue counts until the first start, and not again
    ownlimit: bool = True  # the deadline is compared in the script that ends the job
    firstreason: bool = True  # what has asked the runner first to stop is the reason of the end
    limitgate: bool = True  # a sweep ends nothing while the ledger is not verified
    limitkept: bool = True  # an attempt that is reported to a new Redis has its limit


class Call(NamedTuple):
    """A message to the pod, a process on it, or a report of its end."""

    job: int
    attempt: AttemptId
    outcome: str = ""


class S(NamedTuple):
    ledger: Ledger
    faults: int
    messages: frozenset[Call] = frozenset()
    processes: frozenset[Call] = frozenset()
    ends: frozenset[Call] = frozenset()
    overdue: frozenset[int] = frozenset()
    scans: frozenset[int] = frozenset()  # without rule ownlimit: overdue when a scan looked
    started: frozenset[int] = frozenset()  # since they were submitted
    reasons: tuple[str, ...] = ("", "")  # what has asked the runner first to stop it
    cancel: str = "possible"  # asked | over
    verified: bool = True
    bad: str = ""

    def less(self) -> S:
        return self._replace(faults=self.faults - 1)


Edge = tuple[str, str, S]


class TimeLimits:
    def __init__(self, flags: Flags) -> None:
        self.flags = flags
        instead = {}
        lost = transition(JobState.RUNNING, Event.LOSE, (Fact.FIRST_PHASE, Fact.REPEATABLE))
        reported = transition(JobState.UNKNOWN, Event.REPORT_RUNNING)
        assert lost
        assert reported
        if not flags.runlimit:
            instead[Event.OVERDUE, JobState.RUNNING] = (replace(QUEUED_TOO_LONG, limit=Limit.RUN),)
        if not flags.queuelimit:
            instead[Event.LOSE, JobState.RUNNING] = (replace(lost, begins=Limit.QUEUE),)
        if not flags.firstreason:
            instead[Event.CANCEL, JobState.CANCELLING] = (STOPPING,)
        if not flags.limitkept:
            unlimited = (replace(reported, begins=None),)
            instead |= {(Event.REPORT_RUNNING, state): unlimited for state in (JobState.UNKNOWN, JobState.WAITING)}
        self.table = SlotTable((1, 1), limited=True, instead=instead)

    def init(self) -> S:
        s = S(Ledger((Job(),) * 2, (None,)), self.flags.faults)
        for n in JOBS:
            s = s._replace(ledger=self.table.after(s.ledger, n, Event.SUBMIT) or s.ledger)
        return next(self.script(s, "", s.ledger))[2]

    def placed(self, ledger: Ledger) -> Iterator[Ledger]:
        """Every way in which the end of a script may place what waits."""
        waiting = [n for n in JOBS if ledger.jobs[n].state is JobState.WAITING]
        if not waiting or ledger.slots[POD]:
            yield ledger
        for n in waiting if not ledger.slots[POD] else ():
            yield self.table.after(ledger, n, Event.PLACE, Details(pod=POD)) or ledger

    def script(self, s: S, label: str, ledger: Ledger, kind: str = SYS) -> Iterator[Edge]:
        for after in set(self.placed(ledger)) if s.verified else {ledger}:
            yield kind, label, self.changed(s, after)

    def changed(self, s: S, ledger: Ledger) -> S:
        """A new attempt has a message; a limit that begins or ends has no deadline that is over."""
        pairs = [(n, s.ledger.jobs[n], job) for n, job in enumerate(ledger.jobs)]
        new = [Call(n, job.attempt) for n, old, job in pairs if job.state is JobState.PLACED and old != job]
        stays = {n for n, old, job in pairs if job.counts and (job.counts, timed(job)) == (old.counts, timed(old))}
        wrong = [n for n, old, job in pairs if old.state is JobState.CANCELLING and ended_otherwise(job, s.reasons[n])]
        after = s._replace(ledger=ledger, messages=s.messages | set(new), overdue=s.overdue & stays)
        return after._replace(bad=OTHER_REASON) if wrong else after

    def step(self, s: S) -> Iterator[Edge]:
        for n in JOBS:
            yield from self.client(s, n, s.ledger.jobs[n])
            yield from self.time(s, n, s.ledger.jobs[n])
        for message in s.messages:
            yield from self.start(s, message)
        for process in s.processes:
            yield from self.process(s, process)
        for call in s.ends:
            yield from self.end(s, call)
        yield from self.cancel(s)
        if not s.verified:
            yield from self.report(s)
        if s.faults:
            yield from self.losses(s.less())

    def client(self, s: S, n: int, job: Job) -> Iterator[Edge]:
        """Submits again what Redis has lost."""
        if job.state is JobState.UNKNOWN and (ledger := self.table.after(s.ledger, n, Event.SUBMIT)):
            runs = {process.job for process in s.processes}
            yield from self.script(s._replace(started=s.started - ({n} - runs)), f"job {n} is submitted again", ledger)

    def time(self, s: S, n: int, job: Job) -> Iterator[Edge]:
        if job.counts and n not in s.overdue:
            yield SYS, f"the {job.counts} time of job {n} is over", s._replace(overdue=s.overdue | {n})
        if not self.flags.limits or not (s.verified or not self.flags.limitgate):
            return
        if n in s.overdue and self.flags.ownlimit:
            yield from self.over(s, n, job)
        elif n in s.overdue and n not in s.scans:
            yield SYS, f"a scan finds job {n} overdue", s._replace(scans=s.scans | {n})
        if n in s.scans:
            yield from self.over(s._replace(scans=s.scans - {n}), n, job)

    def over(self, s: S, n: int, job: Job) -> Iterator[Edge]:
        ledger = self.table.after(s.ledger, n, Event.OVERDUE)
        if not ledger:
            yield SYS, f"the sweep leaves job {n}", s
            return
        after = self.asked(s, n, job, "run")
        if n not in s.overdue:
            after = after._replace(bad=IN_TIME)
        if job.counts is Limit.QUEUE and n in s.started:
            after = after._replace(bad=HAS_STARTED)
        yield from self.script(after, f"the sweep finds job {n} over its {job.counts} time", ledger)

    @staticmethod
    def asked(s: S, n: int, job: Job, reason: str) -> S:
        runs = job.state is JobState.RUNNING
        reasons = tuple(reason if runs and at == n else other for at, other in enumerate(s.reasons))
        return s._replace(reasons=reasons)

    def start(self, s: S, message: Call) -> Iterator[Edge]:
        n, attempt, _ = message
        rest = s._replace(messages=s.messages - {message})
        ledger = self.table.after(s.ledger, n, Event.START, Details(attempt)) if s.verified else None
        if ledger is None:
            yield SYS, f"attempt {attempt} of job {n} may not start", rest
        else:
            after = self.changed(rest, ledger)
            runs = after._replace(processes=s.processes | {message}, started=s.started | {n})
            yield SYS, f"attempt {attempt} of job {n} starts", runs

    def process(self, s: S, process: Call) -> Iterator[Edge]:
        job = s.ledger.jobs[process.job]
        stops = s.verified and (job.state in STOPPED or job.attempt != process.attempt)
        for outcome, kind in (("succeeded", ENV), *([("cancelled", SYS)] if stops else [])):
            ended = s._replace(processes=s.processes - {process}, ends=s.ends | {process._replace(outcome=outcome)})
            yield kind, f"attempt {process.attempt} of job {process.job} {outcome}", ended

    def end(self, s: S, call: Call) -> Iterator[Edge]:
        """The runner repeats it to a new Redis."""
        details = Details(call.attempt, outcome=call.outcome)
        event = Event.END if s.verified else Event.REPORT_END
        ledger = self.table.after(s.ledger, call.job, event, details) or s.ledger
        label = f"the end of attempt {call.attempt} of job {call.job} arrives"
        yield from self.script(s._replace(ends=s.ends - {call}), label, ledger)

    def cancel(self, s: S) -> Iterator[Edge]:
        if s.cancel == "possible":
            yield ENV, "somebody cancels job 0", s._replace(cancel="asked")
        elif s.cancel == "asked" and s.verified:
            ledger = self.table.after(s.ledger, 0, Event.CANCEL) or s.ledger
            asked = self.asked(s, 0, s.ledger.jobs[0], "cancel")
            yield from self.script(asked._replace(cancel="over"), "job 0 is cancelled", ledger)

    def report(self, s: S) -> Iterator[Edge]:
        """Ends come first. With the report of its only runner the ledger is verified."""
        ledger = s.ledger
        for call in sorted(s.ends):
            details = Details(call.attempt, outcome=call.outcome)
            ledger = self.table.after(ledger, call.job, Event.REPORT_END, details) or ledger
        for n, attempt, _ in s.processes:
            ledger = self.table.after(ledger, n, Event.REPORT_RUNNING, Details(attempt, pod=POD)) or ledger
        yield from self.script(s._replace(verified=True, ends=frozenset()), "the runner reports", ledger)

    def losses(self, s: S) -> Iterator[Edge]:
        """A pod that goes before it has reported to a new Redis takes with it that its jobs had started."""
        gone = s._replace(processes=frozenset(), messages=frozenset(), ends=frozenset(), verified=True)
        known = s.started if s.verified else frozenset[int]()
        label = "the pod is gone, a new one comes"
        yield from self.script(gone._replace(started=known), label, self.table.removed(s.ledger, POD), ENV)
        ledger = s.ledger._replace(incarnation=s.ledger.incarnation + 1)
        for n in JOBS:
            ledger = self.table.after(ledger, n, Event.LEDGER_LOST) or ledger
        lost = self.changed(s, ledger._replace(slots=(None,)))
        yield ENV, "Redis is lost", lost._replace(verified=False, scans=frozenset(), reasons=("", ""))

    @staticmethod
    def rules() -> dict[str, Callable[[S], bool]]:
        rules: dict[str, Callable[[S], bool]] = {
            TWO_PROCESSES: lambda s: len({p.job for p in s.processes}) == len(s.processes),
            NOT_ITS_SLOT: lambda s: (
                not s.verified or all(s.ledger.slots[POD] == Slot(p.job, p.attempt) for p in s.processes)
            ),
        }
        return rules | {name: lambda s, name=name: s.bad != name for name in (HAS_STARTED, IN_TIME, OTHER_REASON)}


def timed(job: Job) -> AttemptId | None:
    """What the time is of that counts: of one attempt, or of the job."""
    return job.attempt if job.counts is Limit.RUN else None


def ended_otherwise(job: Job, reason: str) -> bool:
    """Whether a job that was to stop has ended, and says another reason than the first one."""
    says = ("timed_out", Limit.RUN) if reason == "run" else ("cancelled", None)
    return job.state is JobState.DONE and (job.outcome, job.limit) != says


def settled(s: S) -> bool:
    ended = all(job.state is JobState.DONE for job in s.ledger.jobs)
    return ended and not any(s.ledger.slots) and not (s.processes or s.messages or s.ends)


def check(flags: Flags) -> Result:
    model = TimeLimits(flags)
    return explore(model.init(), model.step, model.rules(), settled)
