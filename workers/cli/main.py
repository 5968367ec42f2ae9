"""`berthmaster`: the command line. Each command has a module of its own."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import structlog
import typer

from workers.cli import processes
from workers.cli.adopt_redis import adopt_redis
from workers.cli.audit import audit
from workers.cli.claim_sets import claimset
from workers.cli.claiming import claim as claim_pod
from workers.cli.claims import claim, migrate
from workers.cli.configured import warn_of_unread
from workers.cli.deciding import cancel, confirm
from workers.cli.doctor import doctor
from workers.cli.explain import explain
from workers.cli.healthcheck import healthcheck
from workers.cli.jobs import job, jobs, pod_pool
from workers.cli.logs import logs
from workers.cli.output import say
from workers.cli.port_pools import port_pool
from workers.cli.releasing import release
from workers.cli.status import status

app = typer.Typer(
    name="berthmaster",
    help="Load-balancer ports, jobs and warm pods for Kubernetes.",
    epilog="Settings come from environment variables BERTHMASTER_...; docs/reference/settings.md lists them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
processes.add_to(app)


def show_version(asked: bool) -> None:
    """Print the version and end, if `--version` is given."""
    if asked:
        say(f"berthmaster {version('berthmaster-server')}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version")]


@app.callback()
def prepare(context: typer.Context, version: Version = False) -> None:  # noqa: ARG001 - its callback acts
    """Send logs to standard error, because standard output may be JSON, and warn of settings that nobody reads."""
    before = structlog.get_config()
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))
    if context.invoked_subcommand != doctor.__name__:  # it has a line of its own for them
        warn_of_unread()
    context.call_on_close(lambda: structlog.configure(**before))


app.command()(audit)
app.command()(doctor)
app.command()(status)
app.command()(jobs)
app.command()(logs)
app.command()(confirm)
app.command()(cancel)
app.command("claim")(claim_pod)
app.command()(release)
app.command()(migrate)
app.command("adopt-redis")(adopt_redis)
explain.command()(claim)
explain.command()(claimset)
explain.command()(job)
explain.command("pod-pool")(pod_pool)
explain.command("port-pool")(port_pool)
app.add_typer(explain, name="explain")
app.add_typer(healthcheck, name="healthcheck")
