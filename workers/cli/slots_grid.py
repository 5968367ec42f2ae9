"""The pod pools of `berthmaster status`: a row with their status, and a grid with a cell for each slot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from berthmaster.jobs.job import slot_class
from berthmaster.jobs.scripts import load_scripts
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.unreadable import unreadable_record
from berthmaster.kinds import POD_POOL
from domain.kubernetes.objects import KubeObject
from events.kube.api import KubeApi
from workers.cli.job_words import STOP_TIME, pod_names, unstopped
from workers.stores.slots.pod_records import PodSlots
from workers.stores.slots.view import jobs_beside, unreadable_jobs, unstopped_jobs, view

Json = dict[str, Any]
POD_POOLS: Final = POD_POOL.collection()
CELLS: Final = {"running": ("■", "green"), "reserved": ("▣", "yellow"), "idle": ("□", ""), "closed": ("x", "dim")}
"""State -> sign and style."""
ANY: Final = slot_class(())
MOST_PODS: Final = 200
"""How many pods of a pool the grid shows."""


def pod_pools(kube: KubeApi) -> list[Json]:
    """Return all pod pools as rows, sorted by name. Raises KubeError."""
    return sorted(
        (summary(KubeObject(pool)) for pool in kube.list(POD_POOLS)["items"]), key=lambda pool: str(pool["name"])
    )


def summary(pool: KubeObject) -> Json:
    """Return a pod pool as a row of `status`."""
    status = pool.status
    wrong = [condition for condition in pool.conditions if condition.get("status") == "False"]
    return {
        "name": f"{pool.namespace}/{pool.name}",
        "pods": status.get("pods") or {},
        "desired": status.get("desiredReplicas"),
        "waiting": status.get("waiting"),
        "reason": status.get("reason"),
        "problem": "; ".join(str(condition.get("message") or condition.get("reason")) for condition in wrong),
    }


def slots(redis: Any, pool: str) -> list[Json]:
    """Return each pod that sends heartbeats, with the state and the job of each of its slots."""
    return [{"pod": pod.name, "view": pod.view, "slots": list(_cells(pod))} for pod in view(_ledger(redis, pool)).pods]


def wrong_jobs(redis: Any, pool: str) -> list[str]:
    """Return a line for each job that is not right.

    Its record cannot be read, it runs while another job has its serial key, or its runner does not stop it.
    """
    ledger = _ledger(redis, pool)
    beside = (
        f"job {job} runs while another job has its serial key: see docs/operations.md" for job in jobs_beside(ledger)
    )
    jobs = unstopped_jobs(ledger, STOP_TIME)
    names = pod_names(view(ledger).pods) if jobs else {}
    hung = (f"job {job.id}: {unstopped(names.get(job.uid, job.uid), since)}" for job, since in jobs)
    return [*map(unreadable_record, unreadable_jobs(ledger)), *beside, *hung]


def _ledger(redis: Any, pool: str) -> SlotLedger:
    return SlotLedger(redis, load_scripts(redis), pool)


def _cells(pod: PodSlots) -> Iterator[Json]:
    """Yield the slots. An idle slot of a pod that accepts no jobs is closed. Empty `accepts` means any phase."""
    for accepts, job, state in zip(pod.layout, pod.slots, pod.states, strict=True):
        yield {
            "state": state or ("idle" if pod.view == "open" else "closed"),
            "job": job,
            "accepts": [] if accepts == ANY else accepts.strip(",").split(","),
        }


def show(out: Console, pools: list[Json]) -> None:
    """Print the table of pod pools and their grids."""
    table = Table("pod pool", "pods", "wanted", "waiting", "slots", "why")
    for pool in pools:
        numbers = ("-" if pool[name] is None else str(pool[name]) for name in ("desired", "waiting"))
        pods = ", ".join(f"{number} {state}" for state, number in pool["pods"].items() if number)
        why = pool["problem"] or pool["reason"] or "no worker has reconciled it yet"
        table.add_row(pool["name"], pods or "none", *numbers, _counted(pool), why)
    out.print(table)
    with_slots = [pool for pool in pools if any(pod["slots"] for pod in pool["slots"] or ())]
    for pool in with_slots:
        out.print(pool["name"], "", grid(pool["slots"]))
    if with_slots:
        out.print(Text("slots: ") + Text(", ").join(Text.assemble(CELLS[state], f" {state}") for state in CELLS))


def _counted(pool: Json) -> str:
    states = Counter(slot["state"] for pod in pool["slots"] or () for slot in pod["slots"])
    return ", ".join(f"{states[state]} {state}" for state in CELLS if states[state]) or "-"


def grid(pods: list[Json]) -> Text:
    """Return a grid with a group of cells for each pod."""
    groups = (Text.assemble(*(CELLS[slot["state"]] for slot in pod["slots"])) for pod in pods[:MOST_PODS])
    rest = f" ... and {len(pods) - MOST_PODS} more pods" if len(pods) > MOST_PODS else ""
    return Text(" ").join(groups) + rest
