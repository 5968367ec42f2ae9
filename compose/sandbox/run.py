"""The course of a sandbox: start everything, create pods and jobs, wait until all are bound and done, show the summary.

Then churn until the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from berthmaster.client import Fleet
from compose.sandbox.churn import Churn
from compose.sandbox.cluster_view import ClusterView
from compose.sandbox.interruption import Interruption
from compose.sandbox.jobs import EVERY, Jobs
from compose.sandbox.lines import ProgressReport
from compose.sandbox.picture import Picture, missing
from compose.sandbox.stack import Stack
from compose.sandbox.summary import Summary, summarize
from compose.sandbox.tenants import Tenants, pending
from compose.sandbox.workload import POOL, Workload
from workers.cloud.aws.settings import RatesSettings

POLL_EVERY: Final = 0.2
"""Seconds between two observations of the cluster."""
START: Final = 10.0
"""Seconds until the first pods are bound, about."""


@dataclass(frozen=True)
class Options:
    """The size of a sandbox. `timeout`: seconds that `once` may take, including the start."""

    pods: int = 60
    once: bool = False
    timeout: float = 120.0
    churn: bool = True
    jobs: int = 18
    runners: int = 3
    claims: int = 4


def too_soon(options: Options) -> list[str]:
    """Explain which pods or jobs need more than the timeout; [] if it suffices."""
    rate = RatesSettings().registration
    needed = max(0.0, options.pods - rate.burst) / rate.per_second + START
    paced = options.jobs * EVERY + START
    return [
        f"{what} take about {seconds:.0f} s {why}: raise --timeout"
        for what, seconds, why in (
            (f"{options.pods} pods", needed, "at the rate that AWS permits"),
            (f"{options.jobs} jobs", paced, "at the pace of their submission"),
        )
        if seconds >= options.timeout
    ]


class Sandbox:
    """One run of a sandbox. Raises Interrupted, ProcessEnded, RuntimeError (a process does not start) and KubeError."""

    def __init__(
        self, stack: Stack, options: Options, report: ProgressReport, interruption: Interruption, began: float
    ) -> None:
        """Store the parts. `began` as in `time.monotonic()`."""
        self.stack, self.options, self.report, self.interruption = stack, options, report, interruption
        self.began, self.started = began, 0.0
        self.jobs: Jobs | None = None
        self.tenants: Tenants | None = None
        self.all_is_shown = False

    def run(self, show: Callable[[Summary], None]) -> bool:
        """Run and return whether everything converged. Without `once`, the run ends only by Interrupted."""
        self.stack.start(self.step)
        api = self.stack.kube.api("sandbox")
        cluster, workload, fleet = ClusterView(api), Workload(api), Fleet(self.stack.redis.url)
        try:
            cluster.start()
            if self.options.jobs:
                self.jobs = Jobs(fleet, self.options.jobs, self.options.runners)
                self.jobs.prepare(api)
            if self.options.claims:
                self.tenants = Tenants(api, self.options.claims)
                self.tenants.prepare()
            self.populate(cluster, workload)
            left = self.converge(cluster)
            show(self.summary(cluster, left))
            if not self.options.once:
                self.go_on(cluster, workload)
            return not left
        finally:
            cluster.stop()
            api.close()
            fleet.close()

    def step(self, what: str) -> None:
        """Report a step. Raises Interrupted."""
        self.report.step(what)
        self.interruption.check()

    def populate(self, cluster: ClusterView, workload: Workload) -> None:
        """Create the pods once the pool is active, as in a cluster that has run for a while."""
        workload.prepare(self.options.pods, self.stack.remote_aws.network())
        while self.in_time and self.observe(cluster).pool.state != "Active":
            pass
        self.step(f"port pool {POOL}, accepted by a worker")
        self.stack.complete()
        for number in range(self.options.pods):
            workload.add_pod()
            if number % 10 == 0:
                self.observe(cluster, pause=0.0)
        self.step(f"{self.options.pods} pods that ask for a port each")

    def converge(self, cluster: ClusterView) -> list[str]:
        """Wait for convergence. Return what is missing in the end, [] if all is well."""
        while True:
            picture = self.observe(cluster)
            left = [*missing(picture, self.options.pods), *(self.jobs.pending() if self.jobs else ())]
            left += pending(picture.claims, self.options.claims)
            if not self.started:
                left.append("the publisher or a worker is not ready")
            if not left:
                return list(self.jobs.wrong()) if self.jobs else []
            if not self.in_time:
                return [*left, *(self.jobs.wrong() if self.jobs else ()), *too_soon(self.options)]

    def observe(self, cluster: ClusterView, pause: float = POLL_EVERY) -> Picture:
        """Wait, check the processes, and show the cluster. Raises Interrupted and ProcessEnded."""
        self.interruption.sleep(pause)
        self.stack.check()
        if not self.started and self.stack.working():
            self.started = self.seconds
            self.step(f"publisher and all {len(self.stack.workers)} workers are ready")
        if self.jobs:
            self.jobs.step(time.monotonic(), more=self.options.churn and self.all_is_shown)
        picture = self.picture(cluster)
        if self.tenants:
            self.tenants.step(picture.claims, time.monotonic(), more=self.options.churn and self.all_is_shown)
        self.report.show(picture)
        return picture

    def picture(self, cluster: ClusterView) -> Picture:
        """Return the present picture, with the jobs."""
        return replace(cluster.picture(), jobs=self.jobs.counts if self.jobs else {})

    def go_on(self, cluster: ClusterView, workload: Workload) -> None:
        """Observe and churn for ever. Raises Interrupted and ProcessEnded."""
        self.step(f"all are bound{', all jobs have ended' if self.jobs else ''}; Ctrl-C ends the sandbox")
        self.all_is_shown = True
        churn = Churn(workload, self.options.pods, Random())
        while True:
            picture = self.observe(cluster)
            if self.options.churn:
                churn.step(picture)

    def summary(self, cluster: ClusterView, left: list[str]) -> Summary:
        """Return the summary. `left`: what has not converged."""
        picture = self.picture(cluster)
        self.report.show(picture)
        first = cluster.first_bound - self.began if cluster.first_bound else None
        times = {"started": self.started or None, "first_bound": first, "seconds": self.seconds}
        return summarize(self.stack, picture, left, times)

    @property
    def in_time(self) -> bool:
        """Whether the timeout of `once` has not passed."""
        return not self.options.once or self.seconds < self.options.timeout

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.began
