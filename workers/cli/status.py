"""`berthmaster status`: the state of port pools, pod pools with their slots, claims and the workqueue."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import typer
from rich.table import Table

from berthmaster import routing
from berthmaster.jobs.unreadable import UnreadableLedger
from berthmaster.redis.client import connect_state
from berthmaster.redis.identity import Identity
from berthmaster.redis.outage import OUTAGE
from domain.kubernetes.objects import KubeObject
from events.kube.api import KubeError
from events.workqueue import Workqueue
from workers.cli import claims, slots_grid
from workers.cli.configured import Unconfigured, configured, kubernetes
from workers.cli.doctor import AsJson
from workers.cli.output import console, say_json
from workers.cli.troubles import in_words
from workers.kube.port_pools import PATH
from workers.settings import WorkerSettings

COLUMNS = ("state", "capacity", "allocated", "waiting", "epoch")
Json = dict[str, Any]
T = TypeVar("T")


def status(as_json: AsJson = False) -> None:
    """Show port pools, pod pools with their slots, claims and the workqueue. Exit status 1 if one cannot be read."""
    settings = configured()
    problems: list[str] = []
    redis = connect_state(settings.redis, Identity(settings.cluster))
    report: Json = {
        "portPools": read_or_note(lambda: port_pools(settings), problems) or [],
        "podPools": read_or_note(lambda: slots_grid.pod_pools(kubernetes(settings)), problems) or [],
        "claims": read_or_note(lambda: claims.claims(kubernetes(settings)), problems) or [],
        "queue": read_or_note(queue(redis).depth, problems) or {},
        "problems": problems,
    }
    for pool in report["podPools"]:
        try:
            pool["slots"] = read_or_note(partial(slots_grid.slots, redis, pool["name"]), problems)
            broken = read_or_note(partial(slots_grid.wrong_jobs, redis, pool["name"]), problems) or ()
            problems.extend(f"{pool['name']}: {problem}" for problem in broken)
        except UnreadableLedger as error:  # one broken pool is one row with the error
            pool["slots"], pool["problem"] = None, str(error)
            problems.append(f"{pool['name']}: {error}")
    say_json(report) if as_json else show(report)
    if problems:
        raise typer.Exit(1)


def queue(redis: Any) -> Workqueue:
    """Return a workqueue to read, without the other services and their clients."""
    return Workqueue(redis, hint_queue=routing.LATENCY)


def read_or_note(question: Callable[[], T], problems: list[str]) -> T | None:
    """Return the answer, or None and add what is wrong to `problems`."""
    try:
        return question()
    except (*OUTAGE, KubeError, Unconfigured) as error:
        if (problem := in_words(error)) not in problems:
            problems.append(problem)
        return None


def port_pools(settings: WorkerSettings) -> list[Json]:
    """Return all port pools as rows, sorted by name. Raises KubeError."""
    listed = [KubeObject(pool) for pool in kubernetes(settings).list(PATH)["items"]]
    return [summary(pool) for pool in sorted(listed, key=lambda pool: pool.name)]


def summary(pool: KubeObject) -> Json:
    """Return a port pool as a row of `status`."""
    status = pool.status
    balancers = [balancer.get("name", "") for balancer in status.get("loadBalancers", [])]
    wrong = (
        f"{condition['reason']}: {condition['message']}"
        for condition in pool.conditions
        if condition["status"] == "False"
    )
    columns = {name: status.get(name) for name in COLUMNS}
    return {"name": pool.name, **columns, "loadBalancers": balancers, "problem": next(wrong, "")}


def show(report: Json) -> None:
    """Print everything as tables."""
    out = console()
    table = Table("port pool", *COLUMNS, "load balancers", "problem")
    for pool in report["portPools"]:
        cells = ["-" if pool[name] is None else str(pool[name]) for name in COLUMNS]
        table.add_row(pool["name"], *cells, str(len(pool["loadBalancers"])), pool["problem"])
    if report["portPools"] or not report["problems"]:  # an empty table says that there are none
        out.print(table)
    if report["podPools"]:
        slots_grid.show(out, report["podPools"])
    if report["claims"]:
        claims.show(out, report["claims"])
    out.print("workqueue:", ", ".join(f"{state} {number:g}" for state, number in report["queue"].items()) or "unknown")
    for problem in report["problems"]:
        out.print(problem, style="red")
