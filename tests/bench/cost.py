"""What one settled run, bind, claim and job costs: CPU time beside an empty Celery task, round trips and requests.

Real are the publisher, one worker process, beat, a runner, Redis and the sandbox's Kubernetes API; the cloud is in
memory. The units take turns. What the idle stack spends in the same time is subtracted, so that ticks do not count.
The least that a unit needs stands beside what it takes; docs/tuning.md has the reasons.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from berthmaster import routing
from berthmaster.client import Request
from events.workqueue import Workqueue
from tests.bench.claims import WarmPool
from tests.bench.counting import Meter, Spent, difference
from tests.bench.crowd import NAMESPACE, Crowd
from tests.bench.empty import empty_message
from tests.bench.job_runner import JOB, STARTS
from tests.bench.jobs import POOL, Starting
from tests.bench.latency import PORTS_EACH
from tests.bench.measuring import Figure, Report, Tell, ratio
from tests.bench.memory_stack import MemoryStack
from tests.bench.profiling import profiled
from tests.support.waiting import eventually

NAME: Final = "cost"
IDLE: Final = 5.0
"""Seconds in which the idle stack is measured."""
BINDS, CLAIMS, JOBS = 50.0, 20.0, 20.0
"""Units a second: below what the stack can do, so that no unit waits for another."""
SAMPLE: Final = 10
"""Units whose commands are listed."""


class Least(NamedTuple):
    """What the protocol needs at least, of one unit; docs/tuning.md ("What a unit costs") argues each number."""

    round_trips: float
    requests: float = 0
    cloud: float = 0


LEAST: Final = {
    "empty task": Least(3),
    "settled run": Least(2),  # of a backlog: its message is shared
    "bind": Least(12, 2, 3),
    "claim": Least(15, 5),
    "job": Least(8),  # its client places it
}


def run(quick: bool, tell: Tell, profile: bool = False) -> Report:
    rounds, size = (2, 1) if quick else (5, 2)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        units = Units(stack, Path(folder), rounds + 2, size, tell)
        idle = units.idle()
        spent: dict[str, list[Spent]] = {name: [] for name in units.sides}
        for turn in range(rounds + 1):
            for name, side in units.sides.items():
                tell(f"turn {turn}: {side.number} x {name}")
                spent[name].append(units.each(side, idle))
        commands = {name: units.commands(name) for name in units.sides}
        if profile:
            for name, side in units.sides.items():
                tell(f"profile of {name}: {profiled(name, units.worker, partial(units.do, side))}")
    measured = {name: turns[1:] for name, turns in spent.items()}  # the first one warms up
    return Report(NAME, figures(measured), {"units": measured, "commands": commands})


class Side(NamedTuple):
    """`act(count)` begins so many units; `done()` says when they are over."""

    number: int
    act: Callable[[int], object]


class Units:
    """The stack, and what is done to it. Every side takes new pods, claims and jobs each time."""

    def __init__(self, stack: ExitStack, folder: Path, turns: int, size: int, tell: Tell) -> None:
        self.fleet = stack.enter_context(MemoryStack(folder, workers=1))
        self.fleet.start(lambda what: tell(f"started {what}"))
        self.fleet.complete()
        eventually(self.fleet.working, timeout=60)
        api = self.fleet.kube.api("bench")
        binds, claims = 40 * size, 20 * size
        self.crowd = stack.enter_context(Crowd(api))
        pods = turns * binds + SAMPLE
        self.crowd.pool(loadBalancers=self.fleet.existing_balancers(-(-pods // PORTS_EACH)))
        self.unbound, self.bound = self.crowd.make(pods), list[str]()
        warm = turns * claims + SAMPLE
        self.warm = stack.enter_context(WarmPool(api, "bench-claims", warm, warm))
        self.claimed, self.jobs = 0, 0
        self.starting = Starting(self.fleet, folder)
        stack.callback(self.starting.close)
        runner = self.starting.runner.process
        assert runner
        self.meter = Meter(self.fleet, {"runner": runner.pid})
        self.queue = Workqueue(self.meter.redis, hint_queue=routing.LATENCY)
        tell(f"{warm} warm pods")
        eventually(lambda: self.warm.idle() >= warm, timeout=300, every=0.5)
        self.sides = {
            "bind": Side(binds, self.bind),
            "empty task": Side(500 * size, self.empty),
            "settled run": Side(binds, self.settled),
            "claim": Side(claims, self.claim),
            "job": Side(40 * size, self.job),
        }

    @property
    def worker(self) -> int:
        return self.meter.processes()["worker"]

    def idle(self) -> Spent:
        """What a second of the idle stack costs."""
        eventually(self.meter.quiet, timeout=60)
        before = self.meter.read()
        time.sleep(IDLE)
        spent = difference(self.meter.read(), before)
        return {name: value / spent["seconds"] for name, value in spent.items()}

    def each(self, side: Side, idle: Spent) -> Spent:
        """What one unit costs beyond the idle stack."""
        before = self.meter.read()
        self.do(side)
        spent = difference(self.meter.read(), before)
        return {name: (value - idle.get(name, 0) * spent["seconds"]) / side.number for name, value in spent.items()}

    def do(self, side: Side) -> None:
        self.fleet.check()
        side.act(side.number)
        eventually(self.meter.quiet, timeout=60, every=0.2)

    def commands(self, name: str) -> dict[str, float]:
        """Commands of Redis a unit, by name. A few are those of ticks."""
        side = Side(SAMPLE, self.sides[name].act)
        sent: Counter[str] = self.meter.commands(lambda: self.do(side))
        return {command: number / SAMPLE for command, number in sent.most_common()}

    # ---- the units

    def empty(self, count: int) -> None:
        self.meter.redis.lpush(routing.LATENCY, *(empty_message(f"pod/games/p{n}") for n in range(count)))
        self.meter.looks += 1
        eventually(self.drained, timeout=60, every=0.1)

    def settled(self, count: int) -> None:
        self.queue.touch([routing.pod_key(NAMESPACE, name) for name in self.bound[-count:]])
        self.meter.looks += 1
        eventually(self.drained, timeout=60, every=0.1)

    def drained(self) -> bool:
        self.meter.looks += 1
        return not self.meter.redis.llen(routing.LATENCY) and not self.queue.depth()["ready"]

    def bind(self, count: int) -> None:
        names, self.unbound = self.unbound[:count], self.unbound[count:]
        self.crowd.ask(names, BINDS)
        self.crowd.wait_for("Bound", names, 120, self.fleet.check)
        self.bound += names

    def claim(self, count: int) -> None:
        self.warm.claim([f"claim-{self.claimed + n}" for n in range(count)], CLAIMS, self.fleet)
        self.claimed += count

    def job(self, count: int) -> None:
        self.starting.redis.delete(f"{STARTS}:job")
        for n in range(count):
            self.starting.fleet.submit(Request(f"job-{self.jobs + n}", POOL, JOB, args=["job", time.time()]))
            time.sleep(1 / JOBS)
        self.jobs += count
        eventually(lambda: len(self.starting.noted("job")) >= count, timeout=60, every=0.2)


def figures(spent: Mapping[str, list[Spent]]) -> tuple[Figure, ...]:
    """A few lines each: CPU in all and of each part, against the empty task; round trips, requests, calls."""
    empty = [cpu(one) for one in spent["empty task"]]
    found: list[Figure] = []
    for name, turns in spent.items():
        against = ratio([cpu(one) for one in turns], empty)
        parts = {part: median(turns, f"cpu {part}") * 1000 for part in ("worker", "publisher", "redis", "runner")}
        note = f"{against:.1f} x an empty task; " + ", ".join(f"{part} {ms:.2f}" for part, ms in parts.items())
        found.append(Figure(f"{name}: CPU", statistics.median(map(cpu, turns)) * 1000, "ms", note=note))
        least, kib = LEAST[name], median(turns, "redis bytes") / 1024
        trips = f"least {least.round_trips:g}; {kib:.1f} KiB"
        found.append(Figure(f"{name}: round trips to Redis", median(turns, "redis round trips"), note=trips))
        if requests := counted(turns, "http "):
            kib = median(turns, "http bytes") / 1024
            note = f"least {least.requests:g}; {kib:.1f} KiB; {listed(requests)}"
            found.append(Figure(f"{name}: requests to Kubernetes", sum(requests.values()), note=note))
        if calls := counted(turns, "cloud "):
            note = f"least {least.cloud:g}; {listed(calls)}"
            found.append(Figure(f"{name}: calls of the cloud", sum(calls.values()), note=note))
    return tuple(found)


def cpu(spent: Spent) -> float:
    """Seconds of all our processes and of Redis."""
    return sum(value for name, value in spent.items() if name.startswith("cpu "))


def median(turns: list[Spent], name: str) -> float:
    return statistics.median(one.get(name, 0) for one in turns)


def counted(turns: list[Spent], prefix: str) -> dict[str, float]:
    """Those that a unit makes, the most frequent first; rarer ones are of ticks and pools."""
    names = {name for one in turns for name in one if name.startswith(prefix) and not name.endswith("bytes")}
    each = {name.removeprefix(prefix): median(turns, name) for name in names}
    return {name: number for name, number in sorted(each.items(), key=lambda pair: -pair[1]) if number > 0.05}


def listed(numbers: Mapping[str, Any]) -> str:
    return ", ".join(f"{number:.1f} {name}" for name, number in numbers.items())
