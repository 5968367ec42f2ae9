"""A pool of one-slot pods in simulated time: jobs come, wait for a pod, run, and some wait for a person in between.

A policy is asked every `TICK`, and a second after a job found no slot or a pod was created, ready or removed, as such
events wake a real pool.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

TICK = 15.0
WAKE = 1.0
BOOT = (45.0, 75.0)
GRACE = 10.0
"""Seconds."""


@dataclass(eq=False)
class Job:
    """Seconds. `pause`: how long a person thinks between plan and apply, in which the job keeps its slot."""

    at: float
    plan: float
    pause: float = 0.0
    apply: float = 0.0
    wait: float = math.nan


@dataclass(eq=False)
class Pod:
    created: float
    ready: bool = False
    job: Job | None = None
    phase: str = ""


@dataclass
class World:
    """The pool. `killed`: pods that were removed while busy or reserved; their jobs wait again."""

    seed: int
    pods: list[Pod] = field(default_factory=list)
    waiting: deque[Job] = field(default_factory=deque)
    now: float = 0.0
    pod_seconds: float = 0.0
    killed: int = 0
    changed: bool = False

    def __post_init__(self) -> None:
        self._random, self._events = Random(self.seed), list[tuple[float, int, str, Job | Pod | None]]()
        self._count = 0

    def count(self, phase: str) -> int:
        return sum(pod.phase == phase for pod in self.pods)

    @property
    def free(self) -> list[Pod]:
        """The youngest last."""
        return [pod for pod in self.pods if pod.ready and not pod.job]

    def create(self, count: int) -> None:
        for _ in range(count):
            self.pods.append(pod := Pod(self.now))
            self._later(self._random.uniform(*BOOT), "boot", pod)
            self.changed = True

    def remove(self, pods: Iterable[Pod]) -> None:
        for pod in pods:
            self.pods.remove(pod)
            self.pod_seconds += self.now + GRACE - pod.created
            self.changed = True
            if pod.job:
                self.killed += 1
                self.waiting.appendleft(pod.job)
                pod.job = None

    def _later(self, seconds: float, kind: str, what: Job | Pod | None = None) -> None:
        self._count += 1
        heapq.heappush(self._events, (self.now + seconds, self._count, kind, what))

    def run(self, jobs: Iterable[Job], policy: Policy, end: float) -> list[float]:
        """Return how long each job waited, in seconds. Pods that are left cost until `end`."""
        for job in (todo := [Job(job.at, job.plan, job.pause, job.apply) for job in jobs]):
            self._later(job.at, "come", job)
        self._later(0, "tick")
        woken = False
        while self._events and self._events[0][0] <= end:
            self.now, _, kind, what = heapq.heappop(self._events)
            woken = woken and kind != "wake"
            self._happen(kind, what, policy)
            self._place()
            if kind in ("tick", "wake"):
                self.changed = False
                policy.act(self)
                self._place()
            if not woken and (self.changed or (kind == "come" and self.waiting)):
                self._later(WAKE, "wake")
                woken = True
        self.now = end
        self.remove([pod for pod in self.pods if not pod.job])
        self.pod_seconds += sum(end - pod.created for pod in self.pods)
        return [job.wait if not math.isnan(job.wait) else end - job.at for job in todo]

    def _happen(self, kind: str, what: Job | Pod | None, policy: Policy) -> None:
        if kind == "tick":
            self._later(TICK, "tick")
        elif isinstance(what, Job):
            self.waiting.append(what)
        elif isinstance(what, Pod) and what in self.pods:
            if kind == "boot":
                what.ready = self.changed = True
            else:
                self._next_phase(what, policy)

    def _next_phase(self, pod: Pod, policy: Policy) -> None:
        job, then = pod.job, {"plan": "pause", "pause": "apply", "apply": ""}[pod.phase]
        if job and then and job.pause:
            pod.phase = then
            self._later(job.pause if then == "pause" else job.apply, "phase", pod)
            return
        pod.job, pod.phase = None, ""
        if policy.one_job_a_pod:
            self.remove([pod])

    def _place(self) -> None:
        for pod in self.free if self.waiting else ():
            if not self.waiting:
                return
            job = self.waiting.popleft()
            job.wait = self.now - job.at if math.isnan(job.wait) else job.wait
            pod.job, pod.phase = job, "plan"
            self._later(job.plan, "phase", pod)


class Policy(Protocol):
    """Decides how many pods there are."""

    @property
    def one_job_a_pod(self) -> bool:
        """A pod goes with its job."""

    def act(self, world: World) -> None:
        """Create and remove pods."""
