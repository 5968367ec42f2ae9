"""`berthmaster healthcheck`: the probes of a container. They check a process with our settings on our machine."""

from __future__ import annotations

from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Annotated

import typer

from berthmaster.broker.address import broker_problem
from events.settings import ProcessSettings
from workers.cli.configured import configured, or_exit
from workers.cli.output import say
from workers.settings import WorkerSettings
from workers.stores.proof import refusal
from workers.telemetry.heartbeat import judge, of_beat

healthcheck = typer.Typer(
    help="Probe a process in a container. Exit status 0 if it is healthy, 1 if not.", no_args_is_help=True
)
ANSWER_WITHIN = 5.0  # seconds
ANYWHERE = "0.0.0.0"  # noqa: S104 - only compared with; nothing listens on it
Ready = Annotated[bool, typer.Option("--ready", help="Also fail while Redis or the broker is down or refuses")]
Serves = Annotated[bool, typer.Option("--ready", help="Also fail until the first lists have been read")]
Port = Annotated[int, typer.Option(help="The port that Flower listens on")]


@healthcheck.command()
def worker(ready: Ready = False) -> None:
    """Fail if the worker does not consume 60 s after the broker is back, or Redis refuses for 5 minutes."""
    settings = configured()
    judge_file(settings, settings.celery.heartbeat_file, ready)


@healthcheck.command()
def beat(ready: Ready = False) -> None:
    """Fail if beat does not send every tick in time 60 s after the broker is back."""
    settings = configured()
    judge_file(settings, of_beat(settings.celery.heartbeat_file), ready, "sent every tick in time")


@healthcheck.command()
def publisher(ready: Serves = False) -> None:
    """Ask the publisher at /livez, or with --ready at /readyz."""
    settings = or_exit(ProcessSettings).publisher
    host = "127.0.0.1" if settings.health_host == ANYWHERE else settings.health_host
    ask(host, settings.health_port, "/readyz" if ready else "/livez")


@healthcheck.command()
def flower(port: Port = 5555) -> None:
    """Fail if Flower does not answer."""
    ask("127.0.0.1", port, "/healthcheck")


def judge_file(settings: WorkerSettings, file: Path, ready: bool, did: str = "consumed") -> None:
    """Judge a process by its heartbeat file, and exit. `did`: what the heartbeat proves, for the message."""
    broker = settings.broker_url
    refused = refusal(settings.redis.url) or (refusal(broker) if broker != settings.redis.url else None)
    verdict = judge(file, lambda: broker_problem(broker) is None, did, refused)
    end(verdict.ready if ready else verdict.alive, verdict.reason)


def ask(host: str, port: int, path: str) -> None:
    """Ask a local port. HTTPConnection ignores proxies, which only other addresses may need."""
    try:
        with closing(HTTPConnection(host, port, timeout=ANSWER_WITHIN)) as connection:
            connection.request("GET", path)
            answer = connection.getresponse()
            end(answer.status == HTTPStatus.OK, answer.read().decode(errors="replace").strip())
    except (OSError, HTTPException) as error:
        end(well=False, reason=f"no answer on port {port}: {error}")


def end(well: bool, reason: str) -> None:
    """Print the reason, and exit with status 1 if not `well`."""
    say(*reason.splitlines())
    if not well:
        raise typer.Exit(1)
