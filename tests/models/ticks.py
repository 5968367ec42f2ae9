"""The tick of one periodic task: a key of a length, several workers, and work of several steps.

Beat's messages come at any time and as often as they like. Who finds the key free acquires it for a period, and not
less than a step takes. Before each further step a worker keeps the key: it lasts for that step. At the end the key
stays for the rest of the period, and ends at once where none is left. Faults, `faults` in a history: a step takes
longer than its limit, or its worker dies.

Shows: of all workers that are within the limit of their step, one works; a period has one tick; and no message is
refused after the period of the last tick while nobody works, unless a worker has died. Without faults no two work at
once, however many steps the work has. A flag that is False is a rule taken away.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore

LIMIT, WORKERS = 2, 3
OUTLASTS = LIMIT + 1
"""What is left of a key that lasts for a step which begins now."""
MANY, TWICE, SKIPPED = "two workers work at once", "a period has two ticks", "a tick is skipped while nobody works"
NOBODY = -1


class Flags(NamedTuple):
    period: int = 4
    steps: int = 3
    faults: int = 2
    keeps: bool = True  # the key is kept before each step
    owner: bool = True  # the key names its holder, who alone keeps and ends it
    rests: bool = True  # after the work the key stays for the rest of the period
    ends: bool = True  # after the work the key ends where no rest is left


class Worker(NamedTuple):
    left: int = 0  # steps, 0: it does not work
    spent: int = 0  # time of this step


class S(NamedTuple):
    faults: int
    holder: int = NOBODY
    key: int = 0  # the time that the key has left
    period_left: int = 0  # of the last tick that was acquired
    dead: bool = False  # the last worker died
    wrong: str = ""
    workers: tuple[Worker, ...] = (Worker(),) * WORKERS


Edge = tuple[str, str, S]


def put(s: S, at: int, worker: Worker) -> S:
    return s._replace(workers=(*s.workers[:at], worker, *s.workers[at + 1 :]))


class Ticks:
    def __init__(self, flags: Flags) -> None:
        self.flags = flags

    def step(self, s: S) -> Iterator[Edge]:
        if s.wrong:
            return
        yield from self.passing(s)
        idle = next((at for at, worker in enumerate(s.workers) if not worker.left), NOBODY)
        if idle != NOBODY:
            yield self.message(s, idle)
        for at, worker in enumerate(s.workers):
            if worker.left:
                yield self.next(s, at, worker)
                if s.faults:
                    yield ENV, f"{at} dies", put(s._replace(faults=s.faults - 1, dead=True), at, Worker())

    def passing(self, s: S) -> Iterator[Edge]:
        slow = [at for at, worker in enumerate(s.workers) if worker.left and worker.spent == LIMIT]
        if len(slow) > s.faults or (not s.key and not s.period_left and not any(w.left for w in s.workers)):
            return
        workers = tuple(w._replace(spent=min(w.spent + 1, LIMIT + 1)) if w.left else w for w in s.workers)
        key, period_left = max(0, s.key - 1), max(0, s.period_left - 1)
        after = s._replace(faults=s.faults - len(slow), key=key, period_left=period_left, workers=workers)
        yield ENV, f"time passes, too much for {slow}" if slow else "time passes", after

    def message(self, s: S, at: int) -> Edge:
        if s.key:
            idle = not s.dead and not any(worker.left for worker in s.workers)
            return ENV, "a message is refused", s._replace(wrong=SKIPPED) if idle and not s.period_left else s
        period, wrong = self.flags.period, TWICE if s.period_left else ""
        after = s._replace(holder=at, key=max(period, OUTLASTS), period_left=period, dead=False, wrong=wrong)
        return ENV, f"{at} acquires the tick", put(after, at, Worker(self.flags.steps))

    def next(self, s: S, at: int, worker: Worker) -> Edge:
        """The end of a step, and what the worker does then."""
        others = s.holder != at and self.flags.owner
        if worker.left == 1:
            return SYS, f"{at} ends", put(s if others else self.ended(s), at, Worker())
        begun = put(s, at, Worker(worker.left - 1))
        if not self.flags.keeps:
            return SYS, f"{at} begins a step", begun
        if s.key and others:
            return SYS, f"{at} has lost its tick, and stops", put(s, at, Worker())
        return SYS, f"{at} keeps the tick", begun._replace(holder=at, key=max(s.key, OUTLASTS))

    def ended(self, s: S) -> S:
        rest = s.period_left if self.flags.rests else 0
        return s._replace(key=rest if rest or self.flags.ends else s.key)


def one_works(s: S) -> bool:
    return sum(worker.left > 0 and worker.spent <= LIMIT for worker in s.workers) <= 1


def alone(s: S) -> bool:
    return sum(worker.left > 0 for worker in s.workers) <= 1


def check(flags: Flags) -> Result:
    rules = {
        MANY: one_works if flags.faults else alone,
        TWICE: lambda s: s.wrong != TWICE,
        SKIPPED: lambda s: s.wrong != SKIPPED,
    }
    return explore(S(flags.faults), Ticks(flags).step, rules, lambda _: True)
