"""`berthmaster healthcheck`: what the probes of a worker's container run."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from workers.broker import broker_problem
from workers.cli.configured import configured
from workers.heartbeat import judge

healthcheck = typer.Typer(help="Probes for containers: exit status 0 is well, 1 is not.", no_args_is_help=True)
Ready = Annotated[bool, typer.Option("--ready", help="Also fail while the broker is away, which no restart would mend")]


@healthcheck.callback()
def probes() -> None:
    """Without this, typer makes the only command the whole application."""


@healthcheck.command()
def worker(ready: Ready = False) -> None:
    """Whether the worker that shares our settings consumes: within 60 s of the broker's return, or it fails."""
    settings = configured()
    verdict = judge(settings.celery.heartbeat_file, lambda: broker_problem(settings.broker_url) is None, time.time())
    typer.echo(verdict.reason)
    if not (verdict.ready if ready else verdict.alive):
        raise typer.Exit(1)
