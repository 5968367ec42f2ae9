"""`berthmaster status`: pools and claims as their status says, slots, and what is in the workqueue."""

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
    """Shows pools with their slots, claims, and the workqueue; exit status 1 if one of them cannot be read."""
    settings = configured()
    problems: list[str] = []
    redis = connect_state(settings.redis, Identity(settings.cluster))
    found: Json = {
        "pools": known(lambda: pools(settings), problems) or [],
        "podPools": known(lambda: slots_grid.pod_pools(kubernetes(settings)), problems) or [],
        "claims": known(lambda: claims.claims(kubernetes(settings)), problems) or [],
        "queue": known(queue(redis).depth, problems) or {},
        "problems": problems,
    }
    for pool in found["podPools"]:
        try:
            pool["slots"] = known(partial(slots_grid.slots, redis, pool["name"]), problems)
        except UnreadableLedger as error:  # one broken pool is one row that says so
            pool["slots"], pool["problem"] = None, str(error)
            problems.append(f"{pool['name']}: {error}")
    say_json(found) if as_json else show(found)
    if problems:
        raise typer.Exit(1)


def queue(redis: Any) -> Workqueue:
    """To look at: the rest of our services, and their clients, are not needed for that."""
    return Workqueue(redis, hint_queue=routing.LATENCY)


def known(question: Callable[[], T], problems: list[str]) -> T | None:
    try:
        return question()
    except (*OUTAGE, KubeError, Unconfigured) as error:
        if (problem := in_words(error)) not in problems:
            problems.append(problem)
        return None


def pools(settings: WorkerSettings) -> list[Json]:
    listed = [KubeObject(pool) for pool in kubernetes(settings).list(PATH)["items"]]
    return [summary(pool) for pool in sorted(listed, key=lambda pool: pool.name)]


def summary(pool: KubeObject) -> Json:
    seen = pool.status
    balancers = [balancer.get("name", "") for balancer in seen.get("loadBalancers", [])]
    wrong = (f"{each['reason']}: {each['message']}" for each in pool.conditions if each["status"] == "False")
    told = {name: seen.get(name) for name in COLUMNS}
    return {"name": pool.name, **told, "loadBalancers": balancers, "problem": next(wrong, "")}


def show(found: Json) -> None:
    out = console()
    table = Table("pool", *COLUMNS, "load balancers", "problem")
    for pool in found["pools"]:
        cells = ["-" if pool[name] is None else str(pool[name]) for name in COLUMNS]
        table.add_row(pool["name"], *cells, str(len(pool["loadBalancers"])), pool["problem"])
    if found["pools"] or not found["problems"]:  # an empty table says that there are none
        out.print(table)
    if found["podPools"]:
        slots_grid.show(out, found["podPools"])
    if found["claims"]:
        claims.show(out, found["claims"])
    out.print("workqueue:", ", ".join(f"{state} {number:g}" for state, number in found["queue"].items()) or "unknown")
    for problem in found["problems"]:
        out.print(problem, style="red")
