"""`python -m compose.sandbox.demo`: fill a fleet whose processes others run, and say where to look at it.

compose/compose.yaml runs it. It reads the settings of a worker, and begins with an empty fleet.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Annotated

import typer

from berthmaster.client import Fleet
from compose.sandbox.aws.remote import Remote
from compose.sandbox.churn import Churn
from compose.sandbox.cluster_view import ClusterView
from compose.sandbox.interruption import Interrupted, Interruption
from compose.sandbox.jobs import Jobs
from compose.sandbox.lines import PlainLines
from compose.sandbox.picture import Picture, missing
from compose.sandbox.run import POLL_EVERY
from compose.sandbox.tenants import Tenants, pending
from compose.sandbox.workload import PODS, Workload
from events.kube.api import KubeApi
from workers.cli.configured import configured
from workers.cli.output import InertConsole

FILLED = "the fleet was filled before: end it (`docker compose down`) and start it again to see it begin"


@dataclass
class Demo:
    """Pods, jobs and claims in a fleet. Call `prepare` once, and `step` often."""

    api: KubeApi
    cluster: ClusterView
    workload: Workload
    jobs: Jobs
    tenants: Tenants
    pods: int

    @property
    def is_new(self) -> bool:
        """Whether no pod is there. Raises KubeError."""
        return not self.api.list(PODS)["items"]

    def prepare(self, aws: str) -> None:
        """Create pools and pods. `aws`: the address of the simulated AWS. Raises KubeError."""
        self.cluster.start()
        self.workload.prepare(self.pods, Remote(aws).network())
        self.jobs.prepare(self.api)
        self.tenants.prepare()
        for _ in range(self.pods):
            self.workload.add_pod()

    def step(self, *, more: bool) -> Picture:
        """Submit and decide jobs, create claims, and return what users see. `more`: also beyond the first ones."""
        now = time.monotonic()
        self.jobs.step(now, more=more)
        picture = replace(self.cluster.picture(), jobs=self.jobs.counts)
        self.tenants.step(picture.claims, now, more=more)
        return picture

    def unfinished(self, picture: Picture) -> Iterator[str]:
        """Yield what has not happened yet."""
        yield from missing(picture, self.pods)
        yield from self.jobs.pending()
        yield from pending(picture.claims, self.tenants.number)


def main(
    pods: Annotated[int, typer.Option(min=1, max=1000, help="Number of pods; each asks for one port")] = 12,
    jobs: Annotated[int, typer.Option(min=1, max=1000, help="Number of jobs of the first wave")] = 6,
    runners: Annotated[int, typer.Option(min=1, max=8, help="At most this many runner pods")] = 2,
    claims: Annotated[int, typer.Option(min=1, max=200, help="Number of claims, each on a warm pod of its own")] = 2,
    page: Annotated[str, typer.Option(help="Address of the page Fleet, to say where to look")] = "",
) -> None:
    """Create pods, jobs and claims, wait until all is well, say where to look, and go on replacing some."""
    settings, interruption = configured(), Interruption()
    interruption.listen()
    api = KubeApi.connect(settings.kubernetes, "berthmaster-demo")
    fleet = Fleet(settings.broker_url, settings.redis.url)
    demo = Demo(api, ClusterView(api), Workload(api), Jobs(fleet, jobs, runners), Tenants(api, claims), pods)
    report = PlainLines(InertConsole(), time.monotonic())
    try:
        if not demo.is_new:
            report.step(FILLED)
            return
        demo.prepare(settings.aws.endpoint_url or "")
        show(demo, report, interruption, page)
    except Interrupted:
        pass
    finally:
        demo.cluster.stop()
        api.close()
        fleet.close()


def show(demo: Demo, report: PlainLines, interruption: Interruption, page: str) -> None:
    """Report the first wave, then replace pods, jobs and claims for ever. Raises Interrupted."""
    picture = demo.step(more=False)
    while list(demo.unfinished(picture)):
        report.show(picture)
        interruption.sleep(POLL_EVERY)
        picture = demo.step(more=False)
    report.show(picture)
    report.close()
    report.step("all pods have ports, all jobs have ended, and all claims have pods")
    report.step(f"look at the fleet: {page}")
    churn = Churn(demo.workload, demo.pods, Random())
    while True:
        interruption.sleep(POLL_EVERY)
        churn.step(demo.step(more=True))


if __name__ == "__main__":
    typer.run(main)
