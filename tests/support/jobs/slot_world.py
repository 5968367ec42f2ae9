"""A pod pool as a world of its own: simulated runners and clients around the real slot scripts, one step at a time.

Runners live in memory, messages to them in `wire`, so that a test decides what is lost, doubled or late.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import orjson
from redis import Redis

from berthmaster.jobs.job import Job, JobRecord, Limit, Placed
from berthmaster.jobs.placement import ORDER, PlacementOrder
from berthmaster.jobs.runner_ledger import Answer, Report
from berthmaster.jobs.scripts import load_scripts, tables
from berthmaster.jobs.slot_ledger import SlotLedger
from workers.stores.slots.view import times, view

THREE: Final = ("*", ",plan,", ",plan,")
DAY: Final = timedelta(days=1)


@dataclass
class Runner:
    """What a runner process knows: it forgets nothing while it lives."""

    uid: str
    layout: tuple[str, ...] = THREE
    mark: str | None = None
    grants: int = 0
    running: dict[str, tuple[str, str, int]] = field(default_factory=dict)  # attempt -> job, phase, slot
    held: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    ended: dict[str, tuple[str, str, str]] = field(default_factory=dict)  # attempt -> job, phase, outcome
    jobs: dict[str, Job] = field(default_factory=dict)
    pod: str = ""
    ran: dict[str, int] = field(default_factory=dict)  # attempt -> ms
    version: str | None = None

    def report(self) -> Report:
        return Report(
            self.uid,
            self.pod or f"pod-{self.uid}",
            self.layout,
            self.mark,
            self.grants,
            tuple((job, attempt, phase, slot) for attempt, (job, phase, slot) in self.running.items()),
            tuple((job, attempt, phase, slot) for attempt, (job, phase, slot) in self.held.items()),
            tuple((job, attempt, phase, outcome, "") for attempt, (job, phase, outcome) in self.ended.items()),
            tuple(self.jobs.values()),
            ran=tuple(self.ran.items()),
            version=self.version,
        )

    def hear(self, answer: Answer) -> None:
        self.mark = answer.mark
        if answer.accepted:
            self.grants = answer.grants
            for attempt in answer.stop:
                self.running.pop(attempt, None)
                self.held.pop(attempt, None)


class SlotWorld:
    """Every step of it is one step of the real ledger, or of a runner."""

    def __init__(self, redis: Redis, pool: str = "ci/runners", order: PlacementOrder = ORDER) -> None:
        self.redis, self.scripts = redis, load_scripts(redis, tables(order=order))
        self.ledger = SlotLedger(redis, self.scripts, pool)
        self.runners: dict[str, Runner] = {}
        self.wire: list[Placed] = []
        self.effects: Counter[str] = Counter()
        self.excused: set[str] = set()
        self.begin()

    def begin(self) -> None:
        self.ledger.begin(list(self.runners))

    def add(self, uid: str, layout: tuple[str, ...] = THREE) -> Runner:
        """A new pod: it reports, it is written in Kubernetes, it is open."""
        self.runners[uid] = Runner(uid, layout)
        self.beat(uid)
        self.beat(uid)
        self.open(uid)
        return self.runners[uid]

    def open(self, uid: str) -> None:
        self.send(self.ledger.open(uid) or ())

    def beat(self, uid: str) -> Answer:
        answer = self.ledger.report(self.runners[uid].report())
        self.runners[uid].hear(answer)
        self.send(answer.placed)
        return answer

    def send(self, placed: tuple[Placed, ...]) -> None:
        self.wire += placed

    def submit(self, job: str, *phases: str, **options: Any) -> JobRecord:
        record, placed = self.ledger.submit(Job(job, phases or ("plan",), **options))
        self.send(placed)
        return record

    def deliver(self, message: Placed) -> bool:
        """A pod's queue gives it one message; a pod that is gone has no queue."""
        runner = self.runners.get(message.uid)
        ask = (message.id, message.phase, message.attempt, message.uid)
        if not runner or not (started := self.ledger.start(*ask)):
            return False
        if started.plan:
            runner.held.pop(started.plan, None)
        runner.running[message.attempt] = (message.id, message.phase, started.slot)
        runner.jobs[message.id] = message.job
        return True

    def deliver_all(self) -> None:
        messages, self.wire = self.wire, []
        for message in messages:
            self.deliver(message)

    def end(self, uid: str, attempt: str, outcome: str = "succeeded") -> None:
        """A process ends: its effect is there, and its runner keeps the outcome."""
        runner = self.runners[uid]
        job, phase, slot = runner.running.pop(attempt)
        self.effects[f"{job} {phase}"] += 1
        phases = runner.jobs[job].phases
        if outcome == "succeeded" and phase != phases[-1]:
            runner.held[attempt] = (job, phase, slot)
        runner.ended[attempt] = (job, phase, outcome)

    def tell(self, uid: str, attempt: str) -> None:
        """The runner's finish report arrives; it may arrive again."""
        job, phase, outcome = self.runners[uid].ended[attempt]
        self.send(self.ledger.finish(job, phase, attempt, outcome).placed)

    def only(self, uid: str = "a") -> str:
        """The one attempt that runs on a pod."""
        (attempt,) = self.runners[uid].running
        return attempt

    def ended(self, uid: str, attempt: str, outcome: str = "succeeded") -> str:
        """Its process ends, and its runner says so; the attempt."""
        self.end(uid, attempt, outcome)
        self.tell(uid, attempt)
        return attempt

    def planned(self, job: str, uid: str = "a", **options: Any) -> str:
        """A job of two phases waits for a person on that pod; the attempt of its plan."""
        self.submit(job, "plan", "apply", **options)
        self.deliver_all()
        return self.ended(uid, self.only(uid))

    def confirm(self, job: str, plan: str, by: str | None = None) -> bool:
        change = self.ledger.confirm(job, plan, by)
        self.send(change.placed)
        return change.taken

    def cancel(self, job: str, by: str | None = None) -> str:
        change = self.ledger.cancel(job, by)
        self.send(change.placed)
        return change.state

    def kill(self, uid: str) -> None:
        """The pod goes with all that it knew, and Kubernetes says so."""
        runner = self.runners.pop(uid)
        self.excused |= {f"{job} {phase}" for job, phase, _ in runner.ended.values()}
        self.send(self.ledger.remove_pod(uid))

    def sweep(self) -> None:
        self.send(self.ledger.sweep(DAY).placed)

    def over_time(self) -> dict[str, Limit]:
        """What a sweep finds over its time."""
        swept = self.ledger.sweep(DAY)
        self.send(swept.placed)
        return dict(swept.over_time)

    def record(self, job: str) -> JobRecord:
        record = self.ledger.record(job)
        assert record, f"no job {job}"
        return record

    def state(self, job: str) -> str:
        return self.record(job).state.value

    # ---- what Redis has, counted again

    def stored(self, name: str) -> dict[str, Any]:
        flat: Any = self.redis.hgetall(f"{self.ledger.prefix}{name}")
        return {key.decode(): orjson.loads(value) for key, value in flat.items()}

    def deadlines(self) -> dict[str, float]:
        """Job -> ms from now until its limit is over."""
        read = times(self.ledger)
        return {job: (at - read.now).total_seconds() * 1000 for job, at in read.deadlines.items()}

    def count(self, name: str) -> int:
        """Slots that are `used`, or `reserved`."""
        seen = view(self.ledger)
        return {"used": seen.used, "reserved": seen.reserved}[name]
