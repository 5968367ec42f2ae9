"""Any history leaves the books right, runs no job twice at once, and, once it is calm, ends every job.

Submits, ends, cancels, confirmations, lost and doubled messages, lost pods, fences and a lost Redis, in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from redis import Redis

from berthmaster.errors import TransientError
from tests.support.jobs.slot_recount import faults, keys_of_running
from tests.support.jobs.slot_world import SlotWorld

HOUR_MS = 3_600_000


class History:
    """One random walk; `steps` are what may happen at any time."""

    def __init__(self, redis: Redis, seed: int, losses: int) -> None:
        self.world, self.random, self.losses = SlotWorld(redis), Random(seed), losses
        self.jobs, self.pods, self.asked = list[str](), 0, dict[str, tuple[str, ...]]()
        self.log: list[str] = []
        self.steps: list[Callable[[], str]] = [
            *(self.submit, self.submit, self.deliver, self.deliver, self.deliver, self.end, self.end, self.tell),
            *(self.beat, self.beat, self.confirm, self.confirm, self.cancel, self.add, self.kill, self.crash),
            *(self.lose_message, self.double_message, self.fence, self.sweep, self.lose_redis),
        ]

    def walk(self, length: int) -> None:
        for _ in range(length):
            step = self.random.choice(self.steps)
            try:
                done = step()
            except TransientError:
                done = f"{step.__name__}: not ready"
            if done:
                self.log.append(done)
                self.check()

    def check(self) -> None:
        wrong = faults(self.world)
        wrong += [f"serial key {key} runs {n} times" for key, n in keys_of_running(self.world).items() if n > 1]
        assert not wrong, "\n".join([*self.log[-30:], *wrong])

    def submit(self) -> str:
        if len(self.jobs) > 12 and self.random.random() < 0.7:
            return ""
        job = f"j{len(self.jobs)}" if self.random.random() < 0.8 or not self.jobs else self.random.choice(self.jobs)
        if job not in self.asked:
            self.asked[job] = self.random.choice([("plan",), ("apply",), ("plan", "apply")])
            self.jobs.append(job)
        limits = self.random.choice([{}, {}, {}, {"run_ms": 0}, {"queue_ms": 0}, {"run_ms": HOUR_MS}])
        key, priority = f"w{int(job[1:]) % 3}", int(job[1:]) % 4
        self.world.submit(job, *self.asked[job], serial_key=key, priority=priority, **limits)
        return f"submit {job} {self.asked[job]}"

    def deliver(self) -> str:
        if not self.world.wire:
            return ""
        message = self.world.wire.pop(self.random.randrange(len(self.world.wire)))
        return f"deliver {message.id} {message.attempt} {self.world.deliver(message)}"

    def double_message(self) -> str:
        if not self.world.wire:
            return ""
        self.world.wire.append(self.random.choice(self.world.wire))
        return "a message is doubled"

    def lose_message(self) -> str:
        if not self.world.wire or self.random.random() < 0.7:
            return ""
        message = self.world.wire.pop(self.random.randrange(len(self.world.wire)))
        return f"a message for {message.id} is lost"

    def end(self) -> str:
        running = [(uid, attempt) for uid, runner in self.world.runners.items() for attempt in runner.running]
        if not running:
            return ""
        uid, attempt = self.random.choice(running)
        self.world.end(uid, attempt, self.random.choice(["succeeded", "succeeded", "failed"]))
        return f"{attempt} ends on {uid}"

    def tell(self) -> str:
        ended = [(uid, attempt) for uid, runner in self.world.runners.items() for attempt in runner.ended]
        if not ended:
            return ""
        uid, attempt = self.random.choice(ended)
        self.world.tell(uid, attempt)
        return f"{uid} tells the end of {attempt}"

    def beat(self) -> str:
        if not self.world.runners:
            return ""
        uid = self.random.choice(list(self.world.runners))
        answer = self.world.beat(uid)
        if answer.view == "new":
            self.world.open(uid)
        return f"{uid} reports: {answer.view} stop {answer.stop}"

    def crash(self) -> str:
        """One process of a pod dies, and its runner does not know how it ended."""
        running = [(uid, attempt) for uid, runner in self.world.runners.items() for attempt in runner.running]
        if not running or self.random.random() < 0.6:
            return ""
        uid, attempt = self.random.choice(running)
        del self.world.runners[uid].running[attempt]
        return f"the process of {attempt} on {uid} is killed"

    def confirm(self) -> str:
        if not self.jobs:
            return ""
        record = self.world.ledger.record(self.random.choice(self.jobs))
        if not record or not record.plan:
            return ""
        return f"confirm {record.id} {record.plan}: {self.world.confirm(record.id, record.plan)}"

    def cancel(self) -> str:
        if not self.jobs or self.random.random() < 0.7:
            return ""
        job = self.random.choice(self.jobs)
        return f"cancel {job}: {self.world.cancel(job)}"

    def add(self) -> str:
        if len(self.world.runners) > 3:
            return ""
        self.pods += 1
        self.world.add(f"u{self.pods}")
        return f"pod u{self.pods} comes"

    def kill(self) -> str:
        if not self.world.runners or self.random.random() < 0.6:
            return ""
        uid = self.random.choice(list(self.world.runners))
        self.world.kill(uid)
        return f"pod {uid} is gone"

    def fence(self) -> str:
        """Fenced, and then deleted or taken over and opened again."""
        if not self.world.runners:
            return ""
        uid = self.random.choice(list(self.world.runners))
        why = self.world.ledger.fence(uid, f"t{len(self.log)}", 1)
        if why:
            return f"fence {uid}: {why}"
        if self.random.random() < 0.5:
            assert not self.world.runners[uid].running, "I4: a pod with a process is fenced"
            assert not self.world.runners[uid].held, "I4: a pod with a reservation is fenced"
            self.world.kill(uid)
            return f"{uid} is scaled down"
        assert self.world.ledger.take_over(uid, f"t{len(self.log)}", "sweep")
        self.world.send(self.world.ledger.open(uid, "sweep") or ())
        return f"{uid} is fenced and opened again"

    def sweep(self) -> str:
        self.world.sweep()
        return "sweep"

    def lose_redis(self) -> str:
        if not self.losses or self.random.random() < 0.8:
            return ""
        self.losses -= 1
        self.world.redis.flushall()
        self.world.begin()
        return "Redis is flushed"

    def calm(self) -> None:
        """Everything is delivered, told and confirmed, clients ask again, until nothing moves."""
        if not self.world.runners:
            self.pods += 1
            self.world.add(f"u{self.pods}")
        for _ in range(30):
            self.report_all()
            for job in self.jobs:
                self.world.submit(job, *self.asked[job], serial_key=f"w{int(job[1:]) % 3}")
            self.world.deliver_all()
            self.resend()
            self.end_and_confirm_all()
            self.check()
        left = {job: self.world.state(job) for job in self.jobs if self.world.state(job) != "done"}
        assert not left, "\n".join([*self.log[-40:], f"never ended: {left}"])
        assert (self.world.count("used"), self.world.count("reserved")) == (0, 0)
        self.check_effects()

    def check_effects(self) -> None:
        """What is said to have succeeded has done all its phases."""
        for job in self.jobs:
            if self.world.record(job).outcome == "succeeded":
                assert all(self.world.effects[f"{job} {phase}"] for phase in self.asked[job]), job

    def report_all(self) -> None:
        for uid in list(self.world.runners) * 2:  # the first may be of an old incarnation
            if self.world.beat(uid).view == "new":
                self.world.open(uid)

    def end_and_confirm_all(self) -> None:
        for uid, runner in self.world.runners.items():
            for attempt in list(runner.running):
                self.world.end(uid, attempt)
        for job in self.jobs:
            record = self.world.record(job)
            if record.state == "reserved":
                self.world.confirm(job, record.plan)

    def resend(self) -> None:
        """The time of the next message has come for every job that was placed and has not started."""
        sent = f"{self.world.ledger.prefix}sent"
        jobs: Any = self.world.redis.zrange(sent, 0, -1)
        for job in jobs:
            self.world.redis.zadd(sent, {job: 0})
        self.world.sweep()
        self.world.deliver_all()


@pytest.mark.row("SL-29", "SL-31", "SL-03", "SL-28")
@pytest.mark.parametrize("seed", range(12))
def test_any_history_keeps_the_books_and_ends_every_job(redis: Redis, seed: int) -> None:
    history = History(redis, seed, losses=0)
    history.walk(250)
    history.calm()


@pytest.mark.row("SL-13")
@pytest.mark.parametrize("seed", range(12, 24))
def test_any_history_with_lost_redis_keeps_the_books_and_ends_every_job(redis: Redis, seed: int) -> None:
    history = History(redis, seed, losses=2)
    history.walk(250)
    history.calm()
