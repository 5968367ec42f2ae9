"""`berthmaster`: the command line. Each command has a module of its own."""

from __future__ import annotations

import sys

import structlog
import typer

from workers.cli import processes
from workers.cli.adopt_redis import adopt_redis
from workers.cli.audit import audit
from workers.cli.claim_sets import claimset
from workers.cli.claims import claim, migrate
from workers.cli.deciding import cancel, confirm
from workers.cli.doctor import doctor
from workers.cli.explain import explain
from workers.cli.healthcheck import healthcheck
from workers.cli.jobs import job, jobs, pod_pool
from workers.cli.status import status

app = typer.Typer(
    name="berthmaster",
    help="Load-balancer ports, jobs and warm pods for Kubernetes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
processes.add_to(app)


@app.callback()
def keep_logs_apart(context: typer.Context) -> None:
    """Send logs to standard error, because standard output may be JSON."""
    before = structlog.get_config()
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))
    context.call_on_close(lambda: structlog.configure(**before))


app.command()(audit)
app.command()(doctor)
app.command()(status)
app.command()(jobs)
app.command()(confirm)
app.command()(cancel)
app.command()(migrate)
app.command("adopt-redis")(adopt_redis)
explain.command()(claim)
explain.command()(claimset)
explain.command()(job)
explain.command("pod-pool")(pod_pool)
explain.command("pool", help="Short for pod-pool.")(pod_pool)
app.add_typer(explain, name="explain")
app.add_typer(healthcheck, name="healthcheck")
