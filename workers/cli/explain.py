"""`berthmaster explain pod NAMESPACE/NAME`: what a pod waits for and why, on one screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from berthmaster import time_words
from berthmaster.errors import TransientError
from berthmaster.redis.outage import OUTAGE
from domain.quantity import quantity
from events.kube.api import KubeError
from workers.cli.configured import MISUSE, Unconfigured, configured, kubernetes
from workers.cli.doctor import AsJson
from workers.cli.output import console, say, say_json
from workers.cli.troubles import in_words
from workers.telemetry.logs import set_up

if TYPE_CHECKING:
    from events.workqueue import KeyState
    from workers.ports.explain import LoadBalancerCandidate, PodExplanation, PortPoolExplanation

MOST_ROWS = 15
explain = typer.Typer(
    help="Explain why a pod, claim, claim set, job, port pool or pod pool is in its state.", no_args_is_help=True
)
Pod = Annotated[str, typer.Argument(metavar="NAMESPACE/NAME")]


@explain.callback()
def kinds() -> None:
    """Keep `explain` a group: with a single command and no callback, typer would drop the command's name."""


@explain.command()
def pod(name: Pod, as_json: AsJson = False) -> None:
    """Show what a pod has, what it waits for and why. Exit status 1 if there is no such pod or it cannot be read."""
    namespace, slash, short = name.partition("/")
    if not (namespace and slash and short) or "/" in short:
        say("name the pod as NAMESPACE/NAME", err=True)
        raise typer.Exit(MISUSE)
    try:
        explanation = _explanation(namespace, short)
    except (*OUTAGE, KubeError, Unconfigured, TransientError) as error:
        say(in_words(error), err=True)
        raise typer.Exit(1) from None
    if as_json:
        say_json(document(explanation))
    elif explanation.pod or explanation.pools:
        show(explanation)
    if explanation.pod is None:
        held = (
            "its name still has ports, or waits: see above"
            if explanation.pools
            else "and nothing is held under its name"
        )
        say(f"{explanation.name}: Kubernetes has no such pod, {held}", err=True)
        raise typer.Exit(1)


def _explanation(namespace: str, name: str) -> PodExplanation:
    from workers.ports.explain import explain_pod
    from workers.wiring.process import build  # here: it needs every client, which takes longer than most commands

    settings = configured()
    set_up(settings.log)
    kubernetes(settings)
    return explain_pod(build(settings).ports, namespace, name)


def document(explanation: PodExplanation) -> dict[str, Any]:
    """Return the explanation for `--json`."""
    pod = explanation.pod
    summary = None
    if pod:
        summary = {"uid": pod.uid, "phase": pod.phase, "ips": pod.ips, **asdict(pod.outputs), "mistyped": pod.mistyped}
    run = explanation.run._asdict() | {"doing": run_in_words(explanation.run)}
    rest = {
        "trouble": asdict(explanation.trouble) if explanation.trouble else None,
        "pools": [asdict(pool) for pool in explanation.pools],
    }
    return {"name": explanation.name, "pod": summary, "problem": explanation.problem, "run": run, **rest}


def show(explanation: PodExplanation) -> None:
    """Print the explanation with its tables."""
    out = console()
    for line in lines(explanation):
        out.print(line)
    for pool in explanation.pools:
        for line in pool_lines(pool, explanation):
            out.print(line)
        for table in (_entries(pool), candidate_table(pool.candidates)):
            if table.row_count:
                out.print(table)


def lines(explanation: PodExplanation) -> Iterator[str]:
    """Yield what concerns the pod as a whole."""
    if explanation.pod is None:
        yield f"{explanation.name}: Kubernetes has no such pod"
    else:
        state, message = explanation.pod.outputs.state or "no state yet", explanation.pod.outputs.message
        asks = "" if explanation.pod.wants_ports else " (it asks for no ports, or has ended)"
        yield f"{explanation.name}: {state}{asks}{', ' + message if message else ''}"
        yield f"  phase {explanation.pod.phase}, address {', '.join(explanation.pod.ips) or 'none yet'}"
        for name, meant in explanation.pod.mistyped.items():
            yield f"  annotation {name} is unknown: is {meant} meant?"
    if explanation.problem:
        yield f"  annotation: {explanation.problem}"
    yield f"  run: {run_in_words(explanation.run)}"
    if trouble := explanation.trouble:
        age = timedelta(seconds=max(0, explanation.run.now_ms // 1000 - trouble.at))
        yield f"  last AWS error, {time_words.in_words(age)} ago: {trouble.action}: {trouble.reason}"


def run_in_words(run: KeyState) -> str:
    """Describe the state of a key in the workqueue."""
    tries = f", after {quantity(run.tries, 'failure')} in a row" if run.tries else ""
    if run.held:
        return f"a worker runs it{tries}"
    if run.ready_ms is not None:
        return f"ready for {_seconds(run.now_ms - run.ready_ms)}{tries}"
    if run.due_ms is not None:
        return f"next run in {_seconds(run.due_ms - run.now_ms)}, or when something changes{tries}"
    return "dirty, but no worker has it" if run.dirty else "none until something changes"


def _seconds(ms: int) -> str:
    return f"{max(0, ms) / 1000:.1f} s"


def pool_lines(pool: PortPoolExplanation, explanation: PodExplanation) -> Iterator[str]:
    """Yield what concerns one of the pod's port pools."""
    yield ""
    yield f"port pool {pool.name}: {pool.state}"
    if not pool.epoch:
        return
    asked = " + ".join(str(ports) for ports in pool.ranges) or "0"
    held = len(pool.entries)
    yield f"  ports: asks for {asked}, holds {held}; {pool.free} are free, {pool.demand} are waited for"
    if place := pool.place:
        position = "woken, a run is on its way" if place.woken else f"{place.ahead} of {pool.waiting} waiters before it"
        yield f"  has waited {_seconds(explanation.run.now_ms - place.joined_ms)} for {place.ports} of them: {position}"
    yield f"  epoch {pool.epoch}; load balancers: {pool.auto_create}; quota: {pool.quota}"
    if pool.trouble:
        yield f"  the last scale-up failed: {pool.trouble}"


def _entries(pool: PortPoolExplanation) -> Table:
    table = Table("load balancer", "port", "for", "state", "target", "listener")
    for entry in pool.entries[:MOST_ROWS]:
        reported = "yes" if entry.listener else "not yet"
        table.add_row(*(entry.lb, str(entry.port), entry.want, entry.state, entry.target or "-", reported))
    _more(table, len(pool.entries))
    return table


def candidate_table(load_balancers: Sequence[LoadBalancerCandidate]) -> Table:
    """Return the load balancers in the order in which a run tries them."""
    table = Table("candidate", "in use", "can carry", "listeners of others", "why not")
    for lb in load_balancers[:MOST_ROWS]:
        table.add_row(lb.name, str(lb.used), str(lb.capacity), str(lb.foreign), lb.why_not or "-")
    _more(table, len(load_balancers))
    return table


def _more(table: Table, rows: int) -> None:
    if rows > MOST_ROWS:
        table.add_row(f"... and {rows - MOST_ROWS} more")
