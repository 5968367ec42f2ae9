"""The policies that the bench `autoscaler` compares: the real `decide`, and others written after KEDA's and ARC's.

- Ours: `domain.pod_pools.decision.decide`, on signals that are counted as a run of a pool counts them.
- KEDA's `queueLength` with the autoscaler behind it: as many pods as jobs in the queue and in work need, at most twice
  as many each 15 s and 4 at least, down to the most of a stabilisation window, whichever pod is youngest.
- ARC's: `minRunners` idle runners beside one runner for each job, each of which takes one job and ends.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from domain.pod_pools.decision import Move, decide
from domain.pod_pools.signals import PodTotals, PoolSignals, ScalingPolicy
from tests.bench.autoscaler_world import TICK, World

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Ours:
    """`policy`: the pool's."""

    policy: ScalingPolicy
    one_job_a_pod: bool = False
    last_up: datetime | None = None
    last_down: datetime | None = None

    def act(self, world: World) -> None:
        now, free = START + timedelta(seconds=world.now), world.free
        opened = sum(pod.ready for pod in world.pods)
        reserved = world.count("pause")
        signals = PoolSignals(
            pods=PodTotals(open=opened, booting=len(world.pods) - opened, free=len(free)),
            used=opened - len(free) - reserved,
            reserved=reserved,
            idle={None: len(free)},
            waiting={"job": len(world.waiting)} if world.waiting else {},
            last_up=self.last_up,
            last_down=self.last_down,
        )
        decision = decide(signals, self.policy, now)
        match decision.move:
            case Move.UP:
                self.last_up = now
                world.create(decision.change)
            case Move.DOWN:
                self.last_down = now
                world.remove(free[decision.change :])
            case Move.HOLD:
                pass


@dataclass
class Keda:
    """`window`: of stabilisation, seconds."""

    queue_length: int
    window: float
    least: int
    most: int
    one_job_a_pod: bool = False
    recent: deque[tuple[float, int]] = field(default_factory=deque)
    last: float = -TICK

    def act(self, world: World) -> None:
        if world.now - self.last < TICK:
            return
        self.last, there = world.now, len(world.pods)
        jobs = len(world.waiting) + sum(pod.job is not None for pod in world.pods)
        wanted = max(self.least, min(self.most, math.ceil(jobs / self.queue_length)))
        self.recent.append((world.now, wanted))
        while self.recent[0][0] < world.now - self.window:
            self.recent.popleft()
        if wanted > there:
            world.create(min(wanted - there, max(4, there)))
        elif (most := max(count for _, count in self.recent)) < there:
            ranked = sorted(world.pods, key=lambda pod: (pod.ready, -pod.created))
            world.remove(ranked[: there - most])


@dataclass
class Arc:
    least: int
    most: int
    one_job_a_pod: bool = True

    def act(self, world: World) -> None:
        jobs = len(world.waiting) + sum(pod.job is not None for pod in world.pods)
        there, wanted = len(world.pods), min(self.most, self.least + jobs)
        if wanted > there:
            world.create(wanted - there)
        elif wanted < there:
            idle = sorted((pod for pod in world.pods if not pod.job), key=lambda pod: (pod.ready, -pod.created))
            world.remove(idle[: there - wanted])
