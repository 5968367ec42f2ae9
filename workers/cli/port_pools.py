"""`berthmaster explain port-pool POOL`: what a port pool can give, and what a request would get."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from berthmaster.errors import TransientError
from berthmaster.redis.outage import OUTAGE
from domain.ports.request import RequestError
from domain.quantity import quantity
from events.kube.api import KubeError
from workers.cli.configured import MISUSE, Unconfigured, configured, kubernetes
from workers.cli.doctor import AsJson
from workers.cli.explain import candidate_table
from workers.cli.jobs import refused
from workers.cli.output import console, say, say_json
from workers.cli.troubles import in_words
from workers.telemetry.logs import set_up

if TYPE_CHECKING:
    from workers.port_pools.explain import PortPoolState, RequestTrial

Pool = Annotated[str, typer.Argument(metavar="POOL")]
Ports = Annotated[
    str | None,
    typer.Option(
        metavar="REQUEST",
        help="Say what a new pod with this request would get now, without taking it: 7777/UDP,10000-10009/UDP",
    ),
]
Namespace = Annotated[str | None, typer.Option(help="The namespace of that pod, which may have a share of the pool")]


def port_pool(name: Pool, ports: Ports = None, namespace: Namespace = None, as_json: AsJson = False) -> None:
    """Show what a port pool can give, and what a request would get. Exit status 1 without such a pool."""
    if ports is not None:
        check_request(name, ports)
    try:
        pool = _explanation(name, ports, namespace)
    except (*OUTAGE, KubeError, Unconfigured, TransientError) as error:
        raise refused(in_words(error)) from None
    if pool is None:
        raise refused(f"{name} has no ledger: there is no such PortPool, or its spec was never accepted")
    if as_json:
        say_json(asdict(pool))
        return
    out = console()
    for line in lines(pool):
        out.print(line)
    if pool.load_balancers:
        out.print(candidate_table(pool.load_balancers))
    for line in trial_lines(pool.trial) if pool.trial else ():
        out.print(line)


def check_request(pool: str, ports: str) -> None:
    """Print what is wrong with a request that nobody can read, and exit with status 2."""
    from workers.port_pools.explain import wants_of  # here: it needs every client

    try:
        wants_of(ports, pool)
    except RequestError as error:
        say(f"--ports: {error}", err=True)
        raise typer.Exit(MISUSE) from None


def _explanation(name: str, ports: str | None, namespace: str | None) -> PortPoolState | None:
    from workers.port_pools.explain import explain_port_pool
    from workers.wiring.process import build  # here: it needs every client, which takes longer than most commands

    settings = configured()
    set_up(settings.log)
    kubernetes(settings)
    return explain_port_pool(build(settings).ports, name, ports, namespace)


def lines(pool: PortPoolState) -> Iterator[str]:
    """Yield what concerns the pool as a whole."""
    yield f"port pool {pool.name}: {pool.state}"
    waiting = (
        f"{quantity(pool.waiting, 'pod waits', 'pods wait')} for {pool.demand}" if pool.waiting else "no pod waits"
    )
    yield f"  ports: {pool.used} of {pool.capacity} in use, {pool.free} are free, {waiting}"
    yield f"  epoch {pool.epoch}; load balancers: {pool.auto_create}"
    if pool.conflict:
        yield f"  it gives no new ports: {pool.conflict}"
    if pool.trouble:
        yield f"  the last scale-up failed: {pool.trouble}"


def trial_lines(trial: RequestTrial) -> Iterator[str]:
    """Yield what the request would get."""
    if not trial.places:
        yield f"{trial.request}: {trial.why_not}"
        return
    places = (f"{lb}:{port}" + (f"-{port + count - 1}" if count > 1 else "") for lb, port, count in trial.places)
    yield f"{trial.request}: it would get {', '.join(places)}"
