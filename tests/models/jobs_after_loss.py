"""Redis is lost once, empty afterwards or an old copy of itself: jobs come back from runners and clients.

Two pods of one slot; job 0 has two phases and its plan runs, job 1 has one and waits. Pods live in Kubernetes; what a
runner runs, reserves and has finished lives in the runner; what a client wants, in the client. The broker survives, so
that old messages still come. A worker that removes a pod may stand between fence and deletion. The real table of
transitions is applied. Faults, `faults` in a run: the loss, a pod dies. Runners stop nothing here.

Shows: no job runs twice at once, no slot has two, no pod with a running or reserved job is deleted, no plan is applied
that nobody confirmed, and no job takes effect twice unless the pod that knew its outcome went before its client saw it.
In the end each client has seen its job's end, and all pods are open. A flag that is False is a rule taken away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from berthmaster.jobs.job import JobState
from berthmaster.jobs.lifecycle import Event
from tests.models.explore import ENV, SYS, Result, explore
from tests.models.jobs_after_loss_states import (
    IN_USE,
    JOBS,
    LOST,
    NOT_CONFIRMED,
    PLAN,
    PODS,
    TWICE,
    TWO_IN_SLOT,
    TWO_PROCESSES,
    Edge,
    Flags,
    Item,
    Message,
    Pod,
    Report,
    S,
    work,
)
from tests.models.slot_table import NOBODY, AttemptId, Details, Job, Ledger, Slot, SlotTable, put


class Loss:
    def __init__(self, flags: Flags) -> None:
        self.flags = flags
        self.table = SlotTable((2, 1), unique=flags.token)

    def init(self) -> S:
        first = (0, 1)
        jobs = (Job(JobState.RUNNING, 0, first, 0), Job(JobState.WAITING))
        pods = (Pod(runs=Item(0, first)), Pod())
        s = S(Ledger(jobs, (Slot(0, first), None)), self.flags.faults, self.flags.removals, pods)
        placed = self.table.after(s.ledger, 1, Event.PLACE, Details(pod=1))
        return s._replace(ledger=placed, copy=(placed, s.views)) if placed and self.flags.placed else s

    def ready(self, s: S) -> bool:
        return s.expected == frozenset() or not self.flags.gate

    def step(self, s: S) -> Iterator[Edge]:
        for n in JOBS:
            yield from self.client(s, n, s.ledger.jobs[n])
        for k in PODS:
            yield from self.process(s, k, s.pods[k])
            yield from self.reports(s, k, s.pods[k])
            yield from self.pod(s, k, s.pods[k])
        yield from self.redis(s)
        if self.ready(s):
            for n in JOBS:
                yield from self.placing(s, n, s.ledger.jobs[n])
            for message in s.messages:
                yield self.start(s, message)
            for plan in s.confirms:
                yield self.confirm(s, plan)
        yield from self.remove(s, s.removal) if s.removal else self.fence(s)

    def client(self, s: S, n: int, job: Job) -> Iterator[Edge]:
        if n in s.satisfied:
            return
        if job.state is JobState.UNKNOWN and self.flags.resubmit:
            ledger = self.table.after(s.ledger, n, Event.SUBMIT) or s.ledger
            yield SYS, f"the client of job {n} submits it again", s._replace(ledger=ledger)
        if job.state is JobState.DONE:
            yield SYS, f"the client of job {n} sees its end", s._replace(satisfied=s.satisfied | {n})

    def placing(self, s: S, n: int, job: Job) -> Iterator[Edge]:
        for k in PODS if job.state is JobState.WAITING else ():
            if s.views[k] == "open" and s.ledger.slots[k] is None:
                ledger = self.table.after(s.ledger, n, Event.PLACE, Details(pod=k)) or s.ledger
                yield SYS, f"job {n} is placed on pod {k}", self.sent(s._replace(ledger=ledger), n)
        if job.state is JobState.PLACED and s.pods[job.pod].life == "live" and (again := self.sent(s, n)) != s:
            yield SYS, f"the message of job {n} is sent again", again
        if n == 0 and job.state is JobState.RESERVED and job.plan not in s.confirms:
            yield SYS, f"a person confirms plan {job.plan}", s._replace(confirms=s.confirms | {job.plan})

    def sent(self, s: S, n: int) -> S:
        job = s.ledger.jobs[n]
        return s._replace(messages=s.messages | {Message(job.pod, n, job.attempt, job.phase)})

    def confirm(self, s: S, plan: AttemptId) -> Edge:
        job, rest = s.ledger.jobs[0], s._replace(confirms=s.confirms - {plan})
        same = self.table.is_same(job.plan, plan) and job.state is JobState.RESERVED
        ledger = self.table.after(s.ledger, 0, Event.CONFIRM) if same else None
        if ledger is None:
            return SYS, f"the confirmation of plan {plan} is refused", rest
        ledger = self.table.after(ledger, 0, Event.PLACE) or ledger
        after = rest._replace(ledger=ledger, bad="" if job.plan == plan else NOT_CONFIRMED)
        return SYS, f"the confirmation of plan {plan} is taken", self.sent(after, 0) if ledger.jobs[0].phase else after

    def start(self, s: S, message: Message) -> Edge:
        k, n, attempt, phase = message
        rest, pod, job = s._replace(messages=s.messages - {message}), s.pods[k], s.ledger.jobs[n]
        here = job.pod == k and job.phase == phase and pod.life == "live"
        ledger = self.table.after(s.ledger, n, Event.START, Details(attempt, phase)) if here else None
        if ledger is None:
            return SYS, f"pod {k} may not start attempt {attempt} of job {n}", rest
        two = pod.runs or (pod.reserved and pod.reserved.job != n)
        report = pod.report and pod.report._replace(late=True)
        started = work(rest, k, runs=Item(n, job.attempt, phase), reserved=None, report=report)
        label = f"pod {k} starts phase {phase} of job {n}, attempt {attempt}"
        return SYS, label, started._replace(ledger=ledger, bad=TWO_IN_SLOT if two else "")

    def process(self, s: S, k: int, pod: Pod) -> Iterator[Edge]:
        item = pod.runs
        if item is None or pod.life != "live":
            return
        if (item.job, item.phase) == PLAN:
            yield SYS, f"the plan of job 0 ends, attempt {item.attempt}", work(s, k, runs=None, reserved=item)
            return
        ended = work(s, k, runs=None, ended=pod.ended | {item})
        effects = put(s.effects, item.job, min(2, s.effects[item.job] + 1))
        yield SYS, f"job {item.job} ends, attempt {item.attempt}", ended._replace(effects=effects)

    def reports(self, s: S, k: int, pod: Pod) -> Iterator[Edge]:
        if pod.life == "live":
            report = self.report(s, pod)
            news = s.views[k] == "unknown" or self.reported(s, k, report).ledger != s.ledger
            idle = k == 1 and s.ledger.incarnation == 0 and not pod.runs  # matters only when it comes late
            if report != pod.report and (news or idle):
                yield SYS if news else ENV, f"pod {k} reports", work(s, k, report=report)
        if pod.report:
            yield SYS, f"the report of pod {k} arrives", work(self.reported(s, k, pod.report), k, report=None)

    def report(self, s: S, pod: Pod) -> Report:
        kept = [item for item in (*sorted(pod.ended), pod.reserved) if item and (self.flags.outs or not item[3])]
        reserved = pod.reserved if self.flags.held or (pod.reserved and not pod.reserved.acknowledged) else None
        return Report(pod.runs, reserved, tuple(kept), s.ledger.incarnation)

    def reported(self, s: S, k: int, report: Report) -> S:
        """What the script `report` does, and what its answer acknowledges."""
        if self.flags.fresh and report.incarnation != s.ledger.incarnation:
            return s
        ledger = s.ledger
        for n, attempt, phase, _ in report.ended:
            ledger = (
                self.table.after(ledger, n, Event.REPORT_END, Details(attempt, phase, outcome="succeeded")) or ledger
            )
        for event, item in ((Event.REPORT_RESERVED, report.reserved), (Event.REPORT_RUNNING, report.runs)):
            ledger = self.in_slot(ledger, k, event, item) if item else ledger
        slot = ledger.slots[k]
        if slot and not report.late and not self.lists(report, slot):
            ledger = self.table.without_pod(ledger, k, Event.UNLISTED)
        ended = frozenset(
            item._replace(acknowledged=item.acknowledged or item in report.ended) for item in s.pods[k].ended
        )
        reserved = s.pods[k].reserved
        if reserved in report.ended:
            reserved = reserved and reserved._replace(acknowledged=True)
        views = put(s.views, k, "new") if s.views[k] == "unknown" else s.views
        known = work(s._replace(ledger=ledger, views=views), k, ended=ended, reserved=reserved)
        return known._replace(expected=s.expected and s.expected - {k})

    def in_slot(self, ledger: Ledger, k: int, event: Event, item: Item) -> Ledger:
        details, slot = Details(item.attempt, item.phase, k), ledger.slots[k]
        if self.table.after(ledger, item.job, event, details) and slot and slot.job != item.job:
            ledger = self.table.without_pod(ledger, k)
        return self.table.after(ledger, item.job, event, details) or ledger

    def lists(self, report: Report, slot: Slot) -> bool:
        items = (report.runs, report.reserved, *report.ended)
        return any(item and item.job == slot.job and self.table.is_same(item.attempt, slot.attempt) for item in items)

    def pod(self, s: S, k: int, pod: Pod) -> Iterator[Edge]:
        if s.faults and pod.life == "live":
            yield ENV, f"pod {k} dies", self.ended(s, k)._replace(faults=s.faults - 1)
        if pod.life == "terminating":
            yield SYS, f"pod {k} ends", self.ended(s, k)
        if pod.life == "live" and (s.views[k] == "new" or (s.views[k] == "unknown" and not self.flags.report)):
            stale = self.flags.write and s.removal is not None and s.removal[0] == k
            after = s._replace(views=put(s.views, k, "open"), removal=(k, False) if stale else s.removal)
            yield SYS, f"a run writes pod {k}, and opens it", after
        if pod.life == "gone":
            ledger, views = self.table.without_pod(s.ledger, k), put(s.views, k, "unknown")
            after = s._replace(ledger=ledger, views=views, expected=s.expected and s.expected - {k})
            removal = s.removal if s.removal and s.removal[0] != k else None  # the UID is another
            yield SYS, f"pod {k} is gone, a new one comes", work(after._replace(removal=removal), k, life="live")

    def ended(self, s: S, k: int) -> S:
        unknown = {item.job for item in s.pods[k].ended} - s.satisfied
        messages = frozenset(message for message in s.messages if message.pod != k)
        removal = s.removal if s.removal and s.removal[0] != k else None
        after = s._replace(pods=put(s.pods, k, Pod("gone")), messages=messages, removal=removal)
        return after._replace(excused=s.excused | unknown)

    def redis(self, s: S) -> Iterator[Edge]:
        if s.ledger.incarnation == 0 and s.faults:
            if s.copy is None and self.flags.copies:
                yield ENV, "a copy of Redis is kept", s._replace(copy=(s.ledger, s.views))
            yield ENV, f"Redis is lost{', an old copy takes over' if s.copy else ''}", self.lost(s, *(s.copy or LOST))
        if s.expected is None:
            listed = frozenset(k for k in PODS if s.views[k] == "unknown" and s.pods[k].life != "gone")
            yield SYS, f"a run lists the pods: {sorted(listed)} must report", s._replace(expected=listed)

    def lost(self, s: S, ledger: Ledger, views: tuple[str, ...]) -> S:
        """What the script `begin` does."""
        ledger = ledger._replace(incarnation=1)
        if self.flags.wish:
            ledger = ledger._replace(slots=(None, None), key=NOBODY)
            for n in JOBS:
                ledger = self.table.after(ledger, n, Event.LEDGER_LOST) or ledger
        less = s._replace(faults=s.faults - 1, copy=None, expected=None, ledger=ledger)
        return less._replace(views=("unknown", "unknown") if self.flags.report else views)

    def fence(self, s: S) -> Iterator[Edge]:
        for k in PODS if s.removals and self.ready(s) and s.views == ("open", "open") else ():
            if s.ledger.slots[k] is None and s.pods[k].life == "live":
                fenced = s._replace(views=put(s.views, k, "fenced"), removal=(k, True), removals=s.removals - 1)
                yield ENV, f"pod {k} is fenced for its removal", fenced

    def remove(self, s: S, removal: tuple[int, bool]) -> Iterator[Edge]:
        k, fresh = removal
        if not fresh:
            yield SYS, f"the deletion of pod {k} meets a conflict", s._replace(removal=None)
        elif s.pods[k].life == "live":
            bad = IN_USE if s.pods[k].runs or s.pods[k].reserved else ""
            yield SYS, f"pod {k} is deleted", work(s, k, life="terminating")._replace(removal=None, bad=bad)

    def rules(self) -> dict[str, Callable[[S], bool]]:
        return {
            TWO_PROCESSES: lambda s: len(running(s)) == len(set(running(s))),
            TWICE: lambda s: all(s.effects[n] <= 1 or n in s.excused for n in JOBS),
            **{name: partial(is_not, name) for name in (TWO_IN_SLOT, IN_USE, NOT_CONFIRMED)},
        }


def is_not(bad: str, s: S) -> bool:
    return s.bad != bad


def running(s: S) -> list[int]:
    return [pod.runs.job for pod in s.pods if pod.runs]


def settled(s: S) -> bool:
    in_use = any(pod.runs or pod.reserved for pod in s.pods)
    return len(s.satisfied) == len(JOBS) and s.views == ("open", "open") and not (in_use or s.removal or s.expected)


def check(flags: Flags) -> Result:
    model = Loss(flags)
    return explore(model.init(), model.step, model.rules(), settled)
