"""Run the whole system on this machine, in processes, without Docker, root, cluster or AWS account.

`python -m compose.sandbox` (`berthmaster sandbox`). See `--help`.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import closing, suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import structlog
import typer

from compose.sandbox.directory import DirectoryRefused, sandbox_directory
from compose.sandbox.drawing import draw
from compose.sandbox.environment import cut_off, fleet_page
from compose.sandbox.interruption import Interrupted, Interruption
from compose.sandbox.lines import PlainLines, ProgressReport
from compose.sandbox.live import Screen
from compose.sandbox.run import Options, Sandbox
from compose.sandbox.stack import ProcessEnded, Stack
from compose.sandbox.summary import Summary
from domain.visible import visible
from events.kube.api import KubeError
from workers.cli.output import InertConsole, say

MISUSE = 2
PICTURE = typer.Option(dir_okay=False, writable=True, help="Write the last live view to this file, as SVG")


class ApiChoice(StrEnum):
    """Which Kubernetes API the sandbox runs."""

    SANDBOX = "sandbox"
    REAL = "real"


def main(  # noqa: PLR0913 - typer takes each option as an argument
    pods: Annotated[int, typer.Option(min=1, max=1000, help="Number of pods; each asks for one port")] = 60,
    jobs: Annotated[
        int, typer.Option(min=0, max=1000, help="Number of jobs for runner pods; 0 starts no runners")
    ] = 18,
    runners: Annotated[int, typer.Option(min=1, max=8, help="At most this many runner pods, of about 80 MB each")] = 3,
    claims: Annotated[int, typer.Option(min=0, max=200, help="Number of claims, each on a warm pod of its own")] = 4,
    api: Annotated[
        ApiChoice, typer.Option(help="Our small Kubernetes API, or a real kube-apiserver (make apiserver)")
    ] = ApiChoice.SANDBOX,
    once: Annotated[
        bool, typer.Option("--once", help="Exit when all pods are bound and all jobs done; exit status 1 if that fails")
    ] = False,
    timeout: Annotated[float, typer.Option(min=1, help="Time limit of --once in seconds")] = 120,
    churn: Annotated[bool, typer.Option(help="Afterwards, keep replacing a few pods and submitting jobs")] = True,
    flower: Annotated[bool, typer.Option(help="Run Flower, which shows the fleet in a browser")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON; progress goes to stderr")] = False,
    picture: Annotated[Path | None, PICTURE] = None,
    directory: Annotated[
        Path, typer.Option("--dir", help="Directory for logs, data and kubeconfig; emptied at the start")
    ] = (Path(".sandbox")),
) -> None:
    """Start everything on this machine: Redis, a Kubernetes API with a kubelet, an AWS, publisher, workers, beat and
    Flower. Create pods that ask for ports and jobs for runner pods, and show how they get them.
    """
    began, interruption = time.monotonic(), Interruption()
    interruption.listen()
    cut_off(os.environ)
    options = Options(pods, once, timeout, churn, jobs, runners, claims)
    try:
        with sandbox_directory(directory) as place, (place / "sandbox.log").open("a", buffering=1) as log:
            structlog.configure(logger_factory=structlog.PrintLoggerFactory(log))
            stack = Stack(place, api, flower, runners=jobs > 0)
            raise typer.Exit(Course(stack, options, interruption, as_json, began, picture).status())
    except (DirectoryRefused, FileNotFoundError) as refusal:
        say(str(refusal), err=True)
        raise typer.Exit(MISUSE) from None


class Course:
    """One sandbox from start to end, and its exit status."""

    def __init__(
        self,
        stack: Stack,
        options: Options,
        interruption: Interruption,
        as_json: bool,
        began: float,
        picture: Path | None = None,
    ) -> None:
        self.console, self.as_json, self.converged = InertConsole(stderr=as_json), as_json, False
        self.once, self.picture = options.once, picture
        live = self.console.is_terminal or picture
        self.screen = Screen(self.console, began, options.pods) if live else None
        self.report: ProgressReport = self.screen or PlainLines(self.console, began)
        self.stack, self.sandbox = stack, Sandbox(stack, options, self.report, interruption, began)

    def status(self) -> int:
        """Run the sandbox and return the exit status: 0, 1, or that of the signal that ended it too early."""
        with self.stack, closing(self.report):
            self.announce()
            try:
                return 0 if self.sandbox.run(self.show) else 1
            except Interrupted as interrupted:
                self.last_words("Stopping all processes, which takes some seconds")
                return 0 if self.converged else interrupted.status
            except (ProcessEnded, RuntimeError, KubeError) as error:
                self.last_words(str(error), f"Logs: {self.stack.directory}")
                return 1

    def show(self, summary: Summary) -> None:
        """Print the summary, and draw the live view if a picture is asked for."""
        self.converged = summary.converged
        self.report.catch_up()
        if self.screen and self.picture:
            draw(self.screen.render(), self.picture)
        if self.once:
            self.report.close()  # the summary comes last
        if self.as_json:
            sys.stdout.write(visible(summary.json()) + "\n")
            sys.stdout.flush()
        else:
            if not self.once:
                self.announce()
            self.console.print(summary.table(lasting=not self.once))
            for hint in () if self.once else summary.hints():  # with --once everything is about to stop
                self.say(hint)
        for reason in summary.missing:
            self.say(f"not converged: {reason}")

    def announce(self) -> None:
        """Print where the fleet's page is: first of all, so that people open it while Flower starts."""
        if page := fleet_page(self.stack.flower_login):
            self.say(page)

    def last_words(self, *lines: str) -> None:
        """Print below the last view. Nobody may read any more: that changes no exit status (rich exits by itself)."""
        with suppress(OSError, SystemExit):
            self.report.close()
            for line in lines:
                self.say(line)

    def say(self, text: str) -> None:
        """Print a line without wrapping it."""
        self.console.print(text, soft_wrap=True)


if __name__ == "__main__":
    application = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    application.command()(main)
    application(prog_name="berthmaster sandbox")
