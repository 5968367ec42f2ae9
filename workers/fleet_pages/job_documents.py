"""The pages of a pod pool and a job, from what `berthmaster explain` and `berthmaster jobs` read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from berthmaster.jobs.job import JobState
from berthmaster.jobs.slot_ledger import SlotLedger
from domain.pod_pools.unready import Unready
from domain.quantity import quantity
from domain.visible import visible_line
from workers.cli.job_words import KEPT, explain_job, inputs, reason
from workers.cli.jobs import is_present, listed
from workers.fleet_pages.document import Cell, Document, line, page_of
from workers.fleet_pages.port_documents import history
from workers.fleet_pages.readers import FleetReaders
from workers.fleet_pages.strips import slot_strip
from workers.pod_pools.decision_log import latest_decision, size_history
from workers.stores.slots.view import SlotsView, view

PODS: Final = ("pod", "state", "slots in use", "last report", "version of the runner")
JOBS: Final = ("job", "state", "phase", "pod", "slot", "priority", "serial key")


def pod_pool(readers: FleetReaders, name: str) -> Document | None:
    """Return the page of a pod pool, None if no worker knows it."""
    ledger = readers.slots(name)
    if not is_present(ledger):
        return None
    document, decision, slots = Document(f"Pod pool {name}"), latest_decision(ledger), view(ledger)
    if decision:
        document.fact(
            "latest decision",
            f"{quantity(decision.size, 'pod')} wanted, change {decision.change:+d}: {decision.reason}",
        )
        document.lines(inputs(decision.inputs))
    _unready(document, slots.unready)
    versions = Counter(pod.version for pod in slots.pods if pod.version)
    document.fact("versions of runners", *(f"{quantity(n, 'pod')} {word}" for word, n in sorted(versions.items())))
    document.chart = _chart(ledger)
    slot_strip(document, name, slots)
    document.table("Pods", PODS, _pods(slots, name.partition("/")[0]))
    rows = [
        (
            page_of("job", f"{name}/{row['id']}", row["id"]),
            str(row["state"]),
            line(row["phase"]),
            line(row["pod"] or row["uid"] or "-"),
            str(row["slot"] or "-"),
            str(row["priority"]),
            line(row["serial_key"] or "-"),
        )
        for row in listed(ledger, ended=False)
    ]
    document.table("Jobs", JOBS, rows)
    history(readers, document, f"podpool/{name}")
    return document


def _chart(ledger: SlotLedger) -> dict[str, Any] | None:
    """Return the pool's size over the last day, None without two points."""
    points = size_history(ledger)
    if len(points) < 2:
        return None
    lines = ("pods wanted", "pods present", "slots used", "slots reserved")
    drawn = [
        [
            point.at,
            [point.size, point.present, point.used, point.reserved],
            f"{point.change:+d}: {visible_line(point.reason)}" if point.change else "",
        ]
        for point in points
    ]
    now: Any = ledger.redis.time()
    return {"label": "Size over the last day", "lines": lines, "points": drawn, "until": now[0]}


def _pods(slots: SlotsView, namespace: str) -> Iterator[tuple[Cell, ...]]:
    for pod in slots.all_pods:
        reported = f"{pod.silent.total_seconds():.0f} s ago"
        page = page_of("pod", f"{namespace}/{pod.name}", pod.name)
        yield page, pod.view, f"{pod.busy} of {len(pod.slots)}", reported, line(pod.version or "-")


def _unready(document: Document, unready: Unready) -> None:
    if unready.count:
        document.fact("pods that never became ready, in a row", unready.count)


def job(readers: FleetReaders, pool: str, name: str) -> Document | None:
    """Return the page of a job, None if the ledger does not know it."""
    explanation = explain_job(readers.slots(pool), name)
    if explanation is None:
        return None
    record = explanation.record
    document = Document(f"Job {record.id}", facts=[("pod pool", page_of("podpool", pool))])
    document.fact("state", record.state)
    document.fact("why", reason(explanation))
    document.fact("phase", f"{record.phase} of {', '.join(record.phases)}")
    document.fact("attempt", record.attempt)
    if explanation.pod:
        namespace = pool.partition("/")[0]
        document.facts.append(("pod", page_of("pod", f"{namespace}/{explanation.pod}", explanation.pod)))
    document.fact("slot", record.slot or None)
    document.fact("priority", record.priority)
    document.fact("serial key", record.serial_key)
    document.fact("confirmed by", record.confirmed_by)
    document.fact("outcome", record.outcome)
    document.fact("must end by", f"{explanation.deadline:%F %T}Z" if explanation.deadline else None)
    document.fact("ended", f"{explanation.ended:%F %T}Z" if explanation.ended else None)
    waits = record.state is JobState.RESERVED
    if record.result:
        document.text(f"Plan {record.plan}" if record.state in KEPT else "Result", record.result)
    document.actions = {"confirm": record.plan if waits else None, "cancel": record.state is not JobState.DONE}
    history(readers, document, f"job/{pool}/{name}")
    return document
