"""Jobs on slots, by the real table of transitions: submit, place, send, start, report, end, and runners that are lost.

Two pods of one slot, two jobs of one phase, of which the second waits already. Every message may arrive at any later
time. Faults, `faults` in a run: a message is lost or comes twice, the answer to a start is lost, a job's process is
killed, a pod dies or stands still (and may go on later), a runner counts as silent although it lives, the record of a
pod is lost. `terminations` in a run: a pod terminates, and goes on for a while, or for ever on a node that is gone,
where nothing runs.

Shows: no job has two processes, no slot two, no process runs in a slot that is not its own, and no job takes effect
twice unless a pod died with an outcome that nobody knew. In the end each client has seen its job's end, and all slots
are free. `ends` is no rule but an assumption: a pod that is gone from Kubernetes runs nothing, which is untrue after a
forced deletion. A flag that is False is a rule taken away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from berthmaster.jobs.job import JobState
from berthmaster.jobs.lifecycle import Event
from tests.models.explore import ENV, SYS, Result, explore
from tests.models.jobs_states import (
    JOBS,
    NO_SLOT,
    NOT_ITS_SLOT,
    PODS,
    TWICE,
    TWO_IN_SLOT,
    TWO_PROCESSES,
    Edge,
    Flags,
    Message,
    Process,
    Report,
    Runner,
    S,
    work,
)
from tests.models.slot_table import (
    NO_RECORD,
    AttemptId,
    Details,
    Job,
    Ledger,
    Slot,
    SlotTable,
    jobs_have_slots,
    loosened,
    put,
)


class Jobs:
    def __init__(self, flags: Flags) -> None:
        self.flags = flags
        loose = [(Event.START, JobState.PLACED), (Event.END, JobState.RUNNING)]
        instead = {} if flags.attempt else {key: loosened(*key) for key in loose}
        self.table = SlotTable((1, 1), exact=flags.attempt, instead=instead)

    def init(self) -> S:
        return S(Ledger((Job(), Job(JobState.WAITING)), (None, None)), self.flags.faults, self.flags.terminations)

    def step(self, s: S) -> Iterator[Edge]:
        for n in JOBS:
            yield from self.client(s, n, s.ledger.jobs[n])
            yield from self.placing(s, n, s.ledger.jobs[n])
        for k in PODS:
            yield from self.runner(s, k, s.runners[k])
            yield from self.pod(s, k, s.runners[k])
        for message in s.messages:
            yield from self.delivery(s, message)
        for n, attempt in s.ends:
            yield from self.finish(s, n, attempt)

    def client(self, s: S, n: int, job: Job) -> Iterator[Edge]:
        state, client = job.state, s.clients[n]
        if state is JobState.UNKNOWN and client == "submits" and n not in s.submits:
            yield SYS, f"a client submits job {n}", s._replace(submits=s.submits | {n})
        if state is JobState.UNKNOWN and client == "waits":
            yield SYS, f"a client finds no job {n}", s._replace(clients=put(s.clients, n, "submits"))
        if state is not JobState.UNKNOWN and client == "submits":
            yield SYS, f"a client learns that job {n} is accepted", s._replace(clients=put(s.clients, n, "waits"))
        if state is JobState.DONE and client != "knows":
            yield SYS, f"a client sees the end of job {n}", s._replace(clients=put(s.clients, n, "knows"))
        if n in s.submits:
            after = s._replace(ledger=self.table.after(s.ledger, n, Event.SUBMIT) or s.ledger)
            yield SYS, f"job {n} is submitted", after._replace(submits=s.submits - {n})
            if s.faults:
                yield ENV, f"job {n} is submitted, and will be again", after.less()
                yield ENV, f"the submission of job {n} is lost", s.less()._replace(submits=s.submits - {n})
        lists = any(item.job == n for runner in s.runners if runner.report for item in runner.report.items)
        over = client == "knows" and n not in s.submits and not lists
        if state is JobState.DONE and (over or not self.flags.retain):
            forgotten = s.ledger._replace(jobs=put(s.ledger.jobs, n, Job(attempt=job.attempt)))
            yield SYS, f"the record of job {n} expires", s._replace(ledger=forgotten)

    def placing(self, s: S, n: int, job: Job) -> Iterator[Edge]:
        for k in PODS if job.state is JobState.WAITING else ():
            if s.ledger.slots[k] is None and not (s.runners[k].silent or s.runners[k].ending):
                placed = self.table.after(s.ledger, n, Event.PLACE, Details(pod=k))
                after = s._replace(ledger=placed or s.ledger)
                yield SYS, f"job {n} is placed on pod {k}", after if self.flags.resend else self.sent(after, n)
        message = Message(job.pod, n, job.attempt)
        missing = job.state is JobState.PLACED and message not in s.messages
        if missing and self.flags.resend and s.runners[job.pod].pod != "gone":
            resent = self.table.after(s.ledger, n, Event.RESEND) or s.ledger
            sent = {message} if resent.jobs[n].state is JobState.PLACED else set()
            yield SYS, f"{message} is sent", s._replace(ledger=resent, messages=s.messages | sent)

    @staticmethod
    def sent(s: S, n: int) -> S:
        """Only who has placed the job sends its message, at once."""
        job = s.ledger.jobs[n]
        return s._replace(messages=s.messages | {Message(job.pod, n, job.attempt)})

    def delivery(self, s: S, message: Message) -> Iterator[Edge]:
        k, n, attempt = message
        gone = s.messages - {message}
        if s.faults:
            yield ENV, f"{message} is lost", s.less()._replace(messages=gone)
        if s.runners[k].pod != "up":
            return
        here = s.ledger.jobs[n].pod == k
        ledger = self.table.after(s.ledger, n, Event.START, Details(attempt)) if here else None
        if ledger is None:
            yield SYS, f"pod {k} may not start attempt {attempt} of job {n}", s._replace(messages=gone)
            return
        report = s.runners[k].report
        granted = work(s._replace(ledger=ledger), k, report=report and report._replace(late=True))
        started = work(granted, k, processes=s.runners[k].processes | {Process(n, attempt)})
        yield SYS, f"pod {k} starts attempt {attempt} of job {n}", started._replace(messages=gone)
        if s.faults:
            yield ENV, f"pod {k} starts {message}, which will come again", started.less()
            yield ENV, f"pod {k} may start {message}: the answer is lost", granted.less()._replace(messages=gone)

    def finish(self, s: S, n: int, attempt: AttemptId) -> Iterator[Edge]:
        """The ledger takes or refuses it; both acknowledge the outcome."""
        words, rest = f"the end of attempt {attempt} of job {n}", s.ends - {(n, attempt)}
        ledger = self.table.after(s.ledger, n, Event.END, Details(attempt, outcome="succeeded"))
        after = s._replace(ledger=ledger or s.ledger)
        for k in PODS:
            after = work(after, k, processes=s.runners[k].processes - {Process(n, attempt, runs=False)})
        yield SYS, f"{words} is {'taken' if ledger else 'refused'}", after._replace(ends=rest)
        if s.faults:
            yield ENV, f"{words} is {'taken' if ledger else 'refused'}, and will come again", after.less()
            yield ENV, f"{words} is lost", s.less()._replace(ends=rest)

    def runner(self, s: S, k: int, runner: Runner) -> Iterator[Edge]:
        for process in runner.processes if runner.pod == "up" else ():
            n, attempt, runs = process
            rest = runner.processes - {process}
            if runs:
                kept = rest | {Process(n, attempt, runs=False)} if self.flags.keep else rest
                ended = work(s, k, processes=kept)._replace(effects=put(s.effects, n, min(2, s.effects[n] + 1)))
                yield SYS, f"attempt {attempt} of job {n} ends", ended._replace(ends=s.ends | {(n, attempt)})
                if s.faults:
                    yield ENV, f"the process of job {n} on pod {k} is killed", work(s.less(), k, processes=rest)
            elif (n, attempt) not in s.ends:
                yield SYS, f"pod {k} repeats the end of {attempt}", s._replace(ends=s.ends | {(n, attempt)})
        report = Report(runner.processes)
        if runner.pod == "up" and self.flags.list and report != runner.report:
            yield SYS, f"pod {k} reports {sorted(report.items)}", work(s, k, report=report)
        if runner.report and (after := self.reported(s, k, runner.report)) != s:
            yield SYS, f"the report of pod {k} arrives", work(after, k, report=None)

    def reported(self, s: S, k: int, report: Report) -> S:
        """What the script `report` does: ends, then what runs, then what is missing."""
        ledger, processes = self.recorded(s, k, report), s.runners[k].processes
        restored = s.ledger.slots[k] == NO_RECORD
        for n, attempt, runs in sorted(report.items, key=lambda item: item.runs):
            event = Event.REPORT_RUNNING if runs else Event.REPORT_END
            details = Details(attempt, pod=k) if runs else Details(attempt, outcome="succeeded")
            ledger = self.table.after(ledger, n, event, details) or ledger
            processes -= set() if runs else {Process(n, attempt, runs=False)}
        is_late = report.late and (self.flags.regrant or not restored)
        if not (is_late and self.flags.newer) and ledger.slots[k] not in {Slot(*item[:2]) for item in report.items}:
            ledger = self.table.without_pod(ledger, k, Event.UNLISTED)
        return work(s._replace(ledger=ledger), k, processes=processes)

    def recorded(self, s: S, k: int, report: Report) -> Ledger:
        """A record that was lost is made anew; without the rule, by what the report lists."""
        if s.ledger.slots[k] != NO_RECORD:
            return s.ledger
        ledger = self.table.recorded(s.ledger, k)
        runs = {Slot(*item[:2]) for item in report.items}
        if not self.flags.reslot and ledger.slots[k] not in runs:
            ledger = ledger._replace(slots=put(ledger.slots, k, None))
        return ledger

    def pod(self, s: S, k: int, runner: Runner) -> Iterator[Edge]:
        if runner.pod == "lost":
            return
        if runner.ending and runner.pod != "gone":
            yield SYS, f"pod {k} has terminated", self.ended(s, k)
        if s.terminations and runner.pod != "gone" and not runner.ending:
            yield from self.termination(s._replace(terminations=s.terminations - 1), k, runner)
        if s.faults:
            yield from self.faults(s, k, runner)
        if runner.pod == "paused":
            yield ENV, f"pod {k} goes on", work(s, k, pod="up")
        yield from self.silent_pod(s, k, runner) if runner.silent else self.silence(s, k, runner)

    def faults(self, s: S, k: int, runner: Runner) -> Iterator[Edge]:
        if s.ledger.slots[k] not in (None, NO_RECORD):
            yield from self.lost_record(s, k, runner)
        if runner.pod != "gone":
            yield ENV, f"pod {k} dies", self.ended(s.less(), k)
            left = {process.job for process in runner.processes if process.runs}
            if left and not self.flags.ends:
                orphans = self.ended(s.less(), k)._replace(orphans=s.orphans | left)
                yield ENV, f"pod {k} is deleted by force, its processes go on", orphans
            if runner.pod == "up":
                yield ENV, f"pod {k} stands still", work(s.less(), k, pod="paused")

    def lost_record(self, s: S, k: int, runner: Runner) -> Iterator[Edge]:
        without = s.less()._replace(ledger=s.ledger._replace(slots=put(s.ledger.slots, k, NO_RECORD)))
        yield ENV, f"the record of pod {k} is lost", without
        if runner.pod == "up":
            yield ENV, f"pod {k} dies, and its record is lost", self.ended(without, k)
        if runner.pod != "gone":
            yield ENV, f"the record of pod {k} is lost, and the pod dies", self.ended(without, k)

    def termination(self, s: S, k: int, runner: Runner) -> Iterator[Edge]:
        moved = self.table.without_pod(s.ledger, k, Event.POD_ENDS) if self.flags.moves else s.ledger
        yield ENV, f"pod {k} terminates", work(s._replace(ledger=moved), k, ending=True)
        if not runner.processes:
            messages = frozenset(message for message in s.messages if message.pod != k)
            lost = work(s._replace(ledger=moved, messages=messages), k, pod="lost", ending=True, report=None)
            yield ENV, f"pod {k} terminates, and its node is gone", lost

    def silence(self, s: S, k: int, runner: Runner) -> Iterator[Edge]:
        up = runner.pod == "up"
        if up and not s.faults:
            return
        after = work(s.less() if up else s, k, silent=True)
        if not self.flags.gone:
            after = after._replace(ledger=self.table.without_pod(s.ledger, k))
        yield ENV if up else SYS, f"the runner of pod {k} counts as silent", after

    def silent_pod(self, s: S, k: int, runner: Runner) -> Iterator[Edge]:
        if runner.pod == "gone":
            remove = self.table.removed if self.flags.onpods else self.table.without_pod
            ledger = (left := remove(s.ledger, k))._replace(slots=put(left.slots, k, None))
            after = work(s, k, pod="up", silent=False, ending=False)._replace(ledger=ledger)
            yield SYS, f"pod {k} is gone, and a new one comes", after
            return
        if runner.pod == "up" and not self.flags.gone:
            yield SYS, f"the runner of pod {k} reports again", work(s, k, silent=False)
        yield SYS, f"pod {k} is deleted", self.ended(s, k)

    def ended(self, s: S, k: int) -> S:
        """Its processes end, and its queue goes with it."""
        unknown = {process.job for process in s.runners[k].processes if not process.runs}
        after = work(s, k, pod="gone", processes=frozenset(), report=None)
        messages = frozenset(message for message in s.messages if message.pod != k)
        return after._replace(messages=messages, excused=s.excused | unknown)

    def rules(self) -> dict[str, Callable[[S], bool]]:
        rules = {
            TWO_PROCESSES: lambda s: all(running(s).count(n) + (n in s.orphans) <= 1 for n in JOBS),
            TWO_IN_SLOT: lambda s: all(len([p for p in runner.processes if p.runs]) <= 1 for runner in s.runners),
            TWICE: lambda s: all(s.effects[n] <= 1 or n in s.excused for n in JOBS),
        }
        if self.flags.attempt and self.flags.reslot and self.flags.retain:
            rules[NO_SLOT] = lambda s: jobs_have_slots(s.ledger)
        return rules | ({NOT_ITS_SLOT: has_its_slot} if all(self.flags[2:]) else {})


def running(s: S) -> list[int]:
    return [process.job for runner in s.runners for process in runner.processes if process.runs]


def has_its_slot(s: S) -> bool:
    pairs = zip(s.runners, s.ledger.slots, strict=True)
    found = [(Slot(*process[:2]), slot) for runner, slot in pairs for process in runner.processes]
    return all(slot in (process, NO_RECORD) for process, slot in found)


def settled(s: S) -> bool:
    over = s.clients == ("knows", "knows") and s.ledger.slots == (None, None)
    return over and not any(runner.processes for runner in s.runners) and not (s.messages or s.ends or s.submits)


def check(flags: Flags) -> Result:
    model = Jobs(flags)
    return explore(model.init(), model.step, model.rules(), settled)
