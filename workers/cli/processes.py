"""The commands that run a process.

Each command replaces itself by the process (exec), so that signals and exit status are those of the process. Unknown
arguments are passed on to it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Annotated, Final, NamedTuple

import typer

from berthmaster import routing
from events.grace import hold
from events.settings import ProcessSettings
from workers.cli import flower_pages, launch
from workers.cli.configured import MISUSE, configured, or_exit
from workers.cli.output import say
from workers.settings import WorkerSettings

PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}
QUEUES = ",".join(routing.ALL)
FLOWER: Final = "workers.fleet_pages"
"""Runs Celery's command line as `launch` does, with the pages of the fleet in Flower."""
FLOWER_TASKS = 10_000
GRACE: Final = 10.0
"""Seconds that beat and Flower have to end; Kubernetes kills their pods after 15."""
AFTER_LEASE: Final = 25.0
"""Seconds beyond the lease that a worker has to end; Kubernetes kills its pod after 60, with a lease of 30."""
Concurrency = Annotated[int | None, typer.Option(help="Number of tasks at a time; default: celery.concurrency")]
Pool = Annotated[
    str | None, typer.Option(help="Celery's pool for these tasks: threads, prefork or solo; default: celery.pool")
]
Port = Annotated[int, typer.Option(help="The port to listen on")]
Address = Annotated[
    str, typer.Option(help="The address to listen on; Flower serves its metrics there without a password")
]


Open = Annotated[
    bool,
    typer.Option(
        "--unauthenticated",
        help="Start without a password: everybody who reaches the address may look, and nobody may decide",
    ),
]
AUTHENTICATION = frozenset({"--basic-auth", "--basic_auth", "--auth"})
UNGUARDED = """Flower would let everybody in. Do one of these:
  set FLOWER_BASIC_AUTH=USER:PASSWORD in its environment (every user of the machine can read a command line)
  configure an OAuth provider with --auth and --auth-provider, see the documentation of Flower
  run berthmaster flower --unauthenticated behind a proxy that authenticates its users"""


class ProcessCommand(NamedTuple):
    """Arguments of Python, and variables on top of our environment."""

    arguments: list[str]
    environment: Mapping[str, str] = {}


def become(command: ProcessCommand, *, held: bool = True) -> None:
    """Replace this process; never returns. If `held`, a signal waits until the new process can handle it."""
    if held:
        hold()
    os.execvpe(sys.executable, [sys.executable, *command.arguments], {**os.environ, **command.environment})


def worker_command(
    settings: WorkerSettings, concurrency: int | None, pool: str | None, rest: Sequence[str]
) -> ProcessCommand:
    """Return the command of a worker.

    SIGTERM waits for threads, which end with their runs. Prefork children get SIGQUIT instead, so they stop in time.
    """
    kind = pool or settings.celery.pool
    number = str(concurrency or settings.celery.concurrency)
    options = ["-P", kind, "-c", number, "-Q", QUEUES, "--without-gossip", "--without-mingle"]
    environment = {"REMAP_SIGTERM": "SIGQUIT"} if kind == "prefork" else {}
    grace = settings.queue.lease.total_seconds() + AFTER_LEASE
    return celery(grace, "worker", *options, *rest, environment=environment)


def celery(
    grace: float, *arguments: str, environment: Mapping[str, str] | None = None, module: str = launch.__name__
) -> ProcessCommand:
    """Return a command of Celery. `grace`: seconds that it has to end; less than the grace period of its pod."""
    return ProcessCommand(["-m", module, f"{grace:g}", "-A", "workers.app", *arguments], environment or {})


def beat_command(rest: Sequence[str]) -> ProcessCommand:
    """Return the command of beat. `rest`: arguments that are passed on."""
    return celery(GRACE, "beat", *rest)


def flower_command(address: str, port: int, rest: Sequence[str]) -> ProcessCommand:
    """Return the command of Flower. `rest`: arguments that are passed on."""
    own = [f"--address={address}", f"--port={port}", f"--max-tasks={FLOWER_TASKS}", f"--conf={flower_pages.__file__}"]
    return celery(GRACE, "flower", *own, *rest, module=FLOWER)


def asks_who_comes(arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Return whether Flower is configured to authenticate its users."""
    said = {argument.partition("=")[0] for argument in arguments}
    return bool(said & AUTHENTICATION or environment.get("FLOWER_BASIC_AUTH") or environment.get("FLOWER_AUTH"))


def add_to(application: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (publisher, worker, beat, flower):
        application.command(context_settings=PASSED_ON)(command)
    application.command(context_settings=PASSED_ON | {"help_option_names": []})(sandbox)  # --help is passed on as well


def publisher(context: typer.Context) -> None:
    """Watch the Kubernetes API and queue what changed."""
    or_exit(ProcessSettings)
    become(ProcessCommand(["-m", "events", *context.args]))


def worker(context: typer.Context, concurrency: Concurrency = None, pool: Pool = None) -> None:
    """Run reconciles and sweeps. Options of `celery worker` are passed on; --autoscale is refused."""
    become(worker_command(configured(), concurrency, pool, context.args))


def beat(context: typer.Context) -> None:
    """Send the ticks. A second beat does no harm."""
    configured()
    become(beat_command(context.args))


def flower(
    context: typer.Context, address: Address = "127.0.0.1", port: Port = 5555, unauthenticated: Open = False
) -> None:
    """Run Flower, which shows tasks and workers. Options of Flower are passed on.

    Workers must send events (celery.task_events). Flower shows the arguments of tasks and can stop workers, so it does
    not start without a password or an OAuth provider.
    """
    configured()
    if find_spec("flower") is None:
        say("Flower is not installed: pip install 'berthmaster-server[flower]'", err=True)
        raise typer.Exit(MISUSE)
    if any(":" not in pair for pair in os.environ.get("FLOWER_BASIC_AUTH", ":").split(",")):
        say("FLOWER_BASIC_AUTH must be USER:PASSWORD, or several of them separated by commas", err=True)
        raise typer.Exit(MISUSE)
    if not unauthenticated and not asks_who_comes(context.args, os.environ):
        say(*UNGUARDED.splitlines(), err=True)
        raise typer.Exit(MISUSE)
    become(flower_command(address, port, context.args))


def sandbox(context: typer.Context) -> None:
    """Run everything on this machine, with an emulated Kubernetes API and an emulated AWS."""
    become(ProcessCommand(["-m", "compose.sandbox", *context.args]), held=False)
