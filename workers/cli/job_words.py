"""What has become of a job and why, and what a decision about a pool was made from, in words for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from berthmaster.jobs.job import JobRecord, JobState, accepted
from berthmaster.jobs.slot_ledger import SlotLedger
from domain.pod_pools.fitting import takes
from domain.pod_pools.signals import Accepts
from workers.stores.slots.view import Place, PodSlots, ended, place_of, view

LINES: Final = 10
"""Lines of a result that are shown."""
KEPT: Final = (JobState.RESERVED, JobState.CONFIRMED)


@dataclass(frozen=True)
class JobExplanation:
    """`pod` is its name, '' for none that is known; `idle` slots of open pods, of which `fitting` take the job.
    `ended`: when, if it has. `hopeless`: why no pod will ever take it, '' where one may.
    """

    record: JobRecord
    place: Place
    pod: str
    idle: int
    fitting: int
    ended: datetime | None
    hopeless: str = ""


def explain_job(ledger: SlotLedger, name: str) -> JobExplanation | None:
    record = ledger.record(name)
    if record is None:
        return None
    pods, kind = view(ledger).pods, ",".join(record.phases)
    idle = [
        takes(accepted(accepts), kind)
        for pod in pods
        if pod.view == "open"
        for accepts, job in zip(pod.layout, pod.slots, strict=True)
        if not job
    ]
    pod, at = pod_names(pods).get(record.uid, ""), ended(ledger, name)
    hopeless = "" if any(takes(slot, kind) for slot in _slots(pods)) else _hopeless(ledger, kind)
    return JobExplanation(record, place_of(ledger, record), pod, len(idle), sum(idle), at, hopeless)


def _slots(pods: tuple[PodSlots, ...]) -> Iterator[Accepts]:
    """Of pods that are there, whatever their revision."""
    return (accepted(accepts) for pod in pods for accepts in pod.layout)


def _hopeless(ledger: SlotLedger, kind: str) -> str:
    """'' also where nobody has decided about the pool yet."""
    from workers.pod_pools.decision_log import recorded, slots_of_new_pods  # here: it needs what few commands do

    decision = recorded(ledger)
    slots = slots_of_new_pods(decision) if decision else None
    if slots is None or any(takes(slot, kind) for slot in slots):
        return ""
    kinds = sorted("+".join(sorted(slot or ())) for slot in slots)
    have = f"slots take {', '.join(kinds)}" if kinds else "its pods have no slots"
    return f"no slot of the pool takes {kind.replace(',', '+')}: {have}; cancel it, or change the pool"


def pod_names(pods: tuple[PodSlots, ...]) -> dict[str, str]:
    """By uid."""
    return {pod.uid: pod.name for pod in pods}


def document(record: JobRecord, pod: str, ended: datetime | None) -> dict[str, Any]:
    """The same for programs; who has no slot has null there."""
    return asdict(record) | {"slot": record.slot or None, "pod": pod or None, "ended": ended}


def lines(explanation: JobExplanation) -> Iterator[str]:
    """What a person is to confirm is shown with what it says."""
    record = explanation.record
    yield f"{record.id}: {record.state}, phase {record.phase} of {', '.join(record.phases)}"
    yield f"  {reason(explanation)}"
    if record.state not in KEPT:
        return
    result = (record.result or "no result").replace("\r\n", "\n").removesuffix("\n").split("\n")
    yield f"  plan {record.plan} says:"
    yield from (f"    {line}" for line in result[:LINES])
    if len(result) > LINES:
        yield f"    ... and {len(result) - LINES} more lines"


def reason(explanation: JobExplanation) -> str:
    """In one line."""
    record, place = explanation.record, explanation.place
    where = f"in slot {record.slot} of pod {explanation.pod or record.uid}"
    if record.state is JobState.WAITING:
        return _waiting(explanation)
    return {
        JobState.PLACED: f"{where}, attempt {record.attempt}: its runner has not started it yet",
        JobState.RUNNING: f"{where}, attempt {record.attempt}",
        JobState.RESERVED: f"{where}, which is kept until somebody confirms plan {record.plan}, or its time is over",
        JobState.CONFIRMED: f"{where}, waits for serial key {record.serial_key}, which {place.key or 'nobody'} has",
        JobState.CANCELLING: f"{where}: its runner was told to stop it",
        JobState.UNKNOWN: "from before Redis was lost: it counts once its runner, or its client, says it again",
        JobState.DONE: f"{record.outcome}: {record.result or 'no result'}",
    }[record.state]


def _waiting(explanation: JobExplanation) -> str:
    record, place = explanation.record, explanation.place
    if place.key:
        return f"waits for serial key {record.serial_key}, which {place.key} has; {place.ahead} before it"
    if place.later:
        return "could not be sent to its pod: it is placed again in a moment"
    if explanation.hopeless:
        return explanation.hopeless
    idle = f"{explanation.idle} slots idle" + (
        f", of which {explanation.fitting or 'none'} fit" if explanation.idle else ""
    )
    return f"waits for a slot that takes {', '.join(record.phases)}: {place.ahead} before it, {idle}"


def inputs(signals: Mapping[str, Any]) -> Iterator[str]:
    """What a decision was made from, one line each."""
    for name, value in signals.items():
        nothing = "never" if name.startswith("last_") else "none"
        yield f"{name.replace('_', ' ')}: {_said(value) or nothing}"


def _said(value: Any) -> str:
    """'' for nothing; kinds that one job or slot has together are joined by +."""
    if isinstance(value, dict):
        return ", ".join(f"{count} {kind.replace(',', '+')}" for kind, count in value.items() if count)
    return "" if value is None else str(value)
