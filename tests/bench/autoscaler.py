"""What the autoscaler costs and how long jobs wait: the real `decide` on recorded load, in simulated time.

Three generated traces, always the same, are replayed for each policy with each of its settings. Of each policy counts
the cheapest setting whose p99 wait is within `WAIT`, which is little more than a pod needs to start. Pods have one slot
for every policy, so that a pod-hour is worth the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from itertools import product
from random import Random
from typing import Any, Final

from domain.pod_pools.signals import ScalingPolicy
from tests.bench.autoscaler_policies import Arc, Keda, Ours
from tests.bench.autoscaler_world import Job, Policy, World
from tests.bench.measuring import Figure, Report, Tell, percentile

HOUR: Final = 3600.0
MOST: Final = 80
WAIT: Final = 90.0
OURS, KEDA, ARC = "ours", "KEDA", "ARC"
DEFAULTS, HOLDING = "ours, defaults", "ours, holdWhileBusy"


@dataclass(frozen=True)
class Result:
    """`wait50` and `wait99` in seconds. `killed`: pods that were removed while they had a job."""

    settings: str
    pod_hours: float
    wait50: float
    wait99: float
    killed: int


def steady_with_bursts(hours: float) -> Iterator[Job]:
    """A job each half minute, and each hour 20 at once."""
    random = Random(1)
    yield from _poisson(random, hours, lambda _: 1 / 30, (30, 300))
    for hour in range(math.ceil(hours)):
        yield from (Job(hour * HOUR + 1800 + random.uniform(0, 20), random.uniform(60, 300)) for _ in range(20))


def day_and_night(hours: float) -> Iterator[Job]:
    """From no job in five minutes to five a minute, and back, within the hours."""
    random = Random(2)
    yield from _poisson(random, hours, lambda at: 1 / 300 + math.sin(math.pi * at / HOUR / hours) ** 4 / 12, (60, 600))


def herd_with_pauses(hours: float) -> Iterator[Job]:
    """Each two hours 50 CI jobs at once; every third waits up to an hour for a person. Few jobs in between."""
    random = Random(3)
    yield from _poisson(random, hours, lambda _: 1 / 400, (60, 200))
    for start in range(900, int(hours * HOUR), 7200):
        for n in range(50):
            pause = random.uniform(300, 3600) if n % 3 == 0 else 0
            yield Job(start + random.uniform(0, 15), random.uniform(60, 400), pause, random.uniform(30, 120))


def _poisson(
    random: Random, hours: float, rate: Callable[[float], float], length: tuple[float, float]
) -> Iterator[Job]:
    at, most = 0.0, max(rate(hours * HOUR * n / 100) for n in range(101))
    while (at := at + random.expovariate(most)) < hours * HOUR:
        if random.random() * most < rate(at):
            yield Job(at, random.uniform(*length))


TRACES: Final[Mapping[str, Callable[[float], Iterator[Job]]]] = {
    "steady with bursts": steady_with_bursts,
    "day and night": day_and_night,
    "herd with pauses": herd_with_pauses,
}


def _ours(step: int, down: float, up: float, cooldown: float, least: int, hold: bool = False) -> Ours:
    pauses = timedelta(0), timedelta(seconds=cooldown)
    return Ours(ScalingPolicy((None,), least, MOST, 0, up, down, step, *pauses, hold_while_busy=hold))


def policies(name: str) -> Iterator[tuple[str, Policy]]:
    """Each setting of the policy."""
    if name in (OURS, HOLDING):
        for step, (down, up), cooldown in product((2, 6), ((0.5, 0.8), (0.95, 1.0), (0.99, 1.0)), (0, 15)):
            words = f"step {step}, downBelow {down}, upAbove {up}, downCooldown {cooldown} s"
            yield words, _ours(step, down, up, cooldown, 0, name == HOLDING)
    elif name == DEFAULTS:
        yield "", Ours(ScalingPolicy((None,), 0, MOST))
    elif name == KEDA:
        for window, least in product((60.0, 300.0), (0, 4, 12)):
            yield f"queueLength 1, window {window:.0f} s, min {least}", Keda(1, window, least, MOST)
    else:
        for least in (0, 2, 6):
            yield f"minRunners {least}", Arc(least, MOST)


def replay(words: str, policy: Policy, jobs: list[Job], end: float) -> Result:
    """The policy on one trace."""
    world = World(seed=7)
    waits = world.run(jobs, policy, end)
    return Result(words, world.pod_seconds / HOUR, percentile(waits, 0.5), percentile(waits, 0.99), world.killed)


def best(results: list[Result]) -> Result:
    """The cheapest within `WAIT`, else that with the shortest wait."""
    return min(results, key=lambda result: (max(result.wait99, WAIT), result.pod_hours))


def run(quick: bool, tell: Tell) -> Report:
    hours = 4.0 if quick else 12.0
    figures, details = list[Figure](), dict[str, Any]()
    for trace, generate in TRACES.items():
        jobs = sorted(generate(hours), key=lambda job: job.at)
        chosen = {
            name: best([replay(*setting, jobs, (hours + 2) * HOUR) for setting in policies(name)])
            for name in (OURS, HOLDING, DEFAULTS, KEDA, ARC)
        }
        tell(f"{trace}: {len(jobs)} jobs")
        details[trace] = {name: asdict(result) for name, result in chosen.items()}
        figures += _figures(trace, chosen)
    return Report("autoscaler", tuple(figures), details)


def _figures(trace: str, chosen: Mapping[str, Result]) -> Iterator[Figure]:
    ours = chosen[OURS]
    yield Figure(f"{trace}: p99 wait", ours.wait99, "s", at_most=WAIT, note=ours.settings)
    yield Figure(f"{trace}: pods killed while busy", ours.killed, at_most=0)
    for name, result in chosen.items():
        wait = f"p50 {result.wait50:.0f} s, p99 {result.wait99:.0f} s, {result.killed} killed"
        yield Figure(f"{trace}: pod-hours, {name}", result.pod_hours, "h", note=f"{wait}; {result.settings}")
    for name in (KEDA, ARC):
        comparable = chosen[name].wait99 <= WAIT
        ratio = ours.pod_hours / chosen[name].pod_hours
        yield Figure(f"{trace}: pod-hours, ours / {name}'s", ratio, at_most=1 if comparable else None)
