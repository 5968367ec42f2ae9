"""A service that uses the fleet: it submits jobs at a steady pace, confirms most plans and cancels some.

It uses only `berthmaster.client`, as any service does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import structlog

from berthmaster.client import Fleet, Request
from berthmaster.jobs.results import Result
from berthmaster.redis.outage import OUTAGE
from compose.sandbox.kube.apply import apply
from events.kube.api import KubeApi

Json = dict[str, Any]
log = structlog.get_logger()
NAMESPACE: Final = "ci"
POOL: Final = "runners"
PODPOOLS: Final = "/apis/berthmaster.dev/v1alpha1/podpools"
EVERY: Final = 0.8
"""Seconds between two jobs."""
AGAIN: Final = 15.0
"""Seconds after which a job that has not ended is submitted again: a message may be lost."""
REST: Final = 30.0
"""Seconds between two waves of jobs, in which the pool shrinks."""
THOUGHT: Final = 0.5
"""Seconds that the simulated person reviews a plan."""
EXAMPLES: Final = 3
AT_ONCE: Final = timedelta(milliseconds=1)
BOTH: Final = ("plan", "apply")


@dataclass
class SandboxJob:
    """A job of the service, and its last known state.

    `state`: submitted, reserved (a plan waits for its person), decided, or an outcome. `due`: when to send the message
    again, as in `time.monotonic()`.
    """

    request: Request
    refused: bool  # the simulated person cancels the plan
    due: float = 0.0
    state: str = "submitted"
    plan: str = ""
    result: str = ""

    @property
    def wanted(self) -> str:
        """The outcome that the job should have."""
        return "cancelled" if self.refused else "succeeded"

    @property
    def ended(self) -> bool:
        """Whether the state is an outcome."""
        return self.state not in ("submitted", "reserved", "decided")


def job(number: int) -> SandboxJob:
    """Return a job. In turn: a plan; plan and apply; two with one serial key; an urgent plan; one that is refused."""
    kind, service = number % 6, f"shop-{number % 6}"
    request = Request(
        id=f"job-{number:04}",
        pool=f"{NAMESPACE}/{POOL}",
        task="deploy",
        kwargs={"service": "shop" if kind in (2, 3) else service, "changes": 1 + number % 4},
        phases=("plan",) if kind in (0, 4) else BOTH,
        serial_key="shop" if kind in (2, 3) else "",
        priority=1 if kind == 4 else 5,
    )
    return SandboxJob(request, refused=kind == 5)


def pod_pool(most: int) -> Json:
    """Return the pod pool. Each pod has a slot for any job and one for plans, and a Redis user of its own.

    Its rush hour lasts three of ten minutes, so that a person who watches sees it.
    """
    variables = [{"name": "BERTHMASTER_RUNNER__HEARTBEAT", "value": "1s"}]
    containers = [{"name": "runner", "image": "registry.example.com/runner:1.0", "env": variables}]
    return {
        "apiVersion": "berthmaster.dev/v1alpha1",
        "kind": "PodPool",
        "metadata": {"name": POOL, "namespace": NAMESPACE},
        "spec": {
            "minReplicas": 1,
            "maxReplicas": most,
            "slots": [{}, {"accepts": ["plan"]}],
            "scaling": {"upCooldown": "2s", "downCooldown": "10s"},
            "schedules": [{"name": "rush-hour", "cron": "*/10 * * * *", "duration": "3m", "minReplicas": 2}],
            "runnerToken": {"secretName": "runners-redis"},
            "template": {"spec": {"restartPolicy": "Never", "containers": containers}},
        },
    }


@dataclass
class Jobs:
    """The jobs of the service. Call `prepare` once and `step` often. Jobs that end as expected are only counted."""

    fleet: Fleet
    number: int
    most_pods: int
    submitted: int = 0
    open: dict[str, SandboxJob] = field(default_factory=dict)
    lost: list[SandboxJob] = field(default_factory=list)
    ended: Counter[str] = field(default_factory=Counter)
    at: str = "0"
    next: float = 0.0

    def prepare(self, api: KubeApi) -> None:
        """Create the namespace and the pod pool."""
        apply(api, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
        apply(api, [pod_pool(self.most_pods)])

    def step(self, now: float, *, more: bool = False) -> None:
        """Read results, and submit what is due. `now`: as `time.monotonic()`. `more`: start another wave later."""
        try:
            for result in self.fleet.results(f"{NAMESPACE}/{POOL}", self.at, AT_ONCE):
                self._hear(result, now)
            if self._is_time_for_another(now, more=more):
                self._add(now)
            for job in [job for job in self.open.values() if now >= job.due]:
                self._say(job, now)
        except OUTAGE as error:  # the check of the processes reports more
            log.info("jobs_not_seen", reason=str(error))

    def _hear(self, result: Result, now: float) -> None:
        self.at = result.at
        if (job := self.open.get(result.job)) is None:
            return
        job.state, job.plan, job.result, job.due = result.state, result.attempt, result.result, now + THOUGHT
        if job.ended:
            del self.open[result.job]
            self.ended[job.state] += 1
            self.lost += [job] if job.state != job.wanted else []

    def _is_time_for_another(self, now: float, *, more: bool) -> bool:
        if now < self.next:
            return False
        if self.submitted and self.submitted % self.number == 0:
            return more and not self.open and now >= self.next + REST
        return True

    def _add(self, now: float) -> None:
        self.submitted, self.next = self.submitted + 1, now + EVERY
        fresh = job(self.submitted)
        self.open[fresh.request.id] = fresh

    def _say(self, job: SandboxJob, now: float) -> None:
        """Submit or decide the job. The message may be lost, so it is repeated until it has an effect."""
        job.due = now + AGAIN
        if job.state == "submitted":
            self.fleet.submit(job.request)
        elif job.refused:
            self.fleet.cancel(job.request.pool, job.request.id)
        else:
            self.fleet.confirm(job.request.pool, job.request.id, job.plan)
        job.state = job.state if job.state == "submitted" else "decided"

    @property
    def counts(self) -> Counter[str]:
        """Jobs by state."""
        return Counter(job.state for job in self.open.values()) + self.ended

    def pending(self) -> Iterator[str]:
        """Yield what has not happened yet."""
        if self.submitted < self.number:
            yield f"{self.submitted} of {self.number} jobs were submitted"
        if self.open:
            yield f"{len(self.open)} jobs have not ended: {named(list(self.open.values()))}"

    def wrong(self) -> Iterator[str]:
        """Yield what went wrong for good."""
        if self.lost:
            yield f"{len(self.lost)} jobs ended as they should not: {named(self.lost)}"


def named(jobs: list[SandboxJob]) -> str:
    """Return the first jobs in words, with state and result."""
    some = ", ".join(
        f"{job.request.id} ({': '.join(filter(None, (job.state, job.result)))})" for job in jobs[:EXAMPLES]
    )
    return f"{some}{', ...' if len(jobs) > EXAMPLES else ''}"
