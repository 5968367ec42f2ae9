"""The state of a job and its reason, and the signals behind a decision about a pod pool, in words for people."""

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
"""How many lines of a result are shown."""
KEPT: Final = (JobState.RESERVED, JobState.CONFIRMED)


@dataclass(frozen=True)
class JobExplanation:
    """A job, its place and what stands in its way.

    `pod`: the name of its pod, '' if it has none or the name is unknown. `idle`: slots of open pods; `fitting` of them
    accept the job. `ended`: when it ended, None before. `hopeless`: why no pod will ever accept it, '' if one may.
    """

    record: JobRecord
    place: Place
    pod: str
    idle: int
    fitting: int
    ended: datetime | None
    hopeless: str = ""


def explain_job(ledger: SlotLedger, name: str) -> JobExplanation | None:
    """Explain a job. None if the ledger does not know it."""
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
    """Yield what the slots of all present pods accept, whatever their revision."""
    return (accepted(accepts) for pod in pods for accepts in pod.layout)


def _hopeless(ledger: SlotLedger, kind: str) -> str:
    """Return why no new pod will accept the job. '' if one will, or while the pool has no decision yet."""
    from workers.pod_pools.decision_log import latest_decision, slots_of_new_pods  # here: few commands need it

    decision = latest_decision(ledger)
    slots = slots_of_new_pods(decision) if decision else None
    if slots is None or any(takes(slot, kind) for slot in slots):
        return ""
    kinds = sorted("+".join(sorted(slot or ())) for slot in slots)
    have = f"slots take {', '.join(kinds)}" if kinds else "its pods have no slots"
    return f"no slot of the pool takes {kind.replace(',', '+')}: {have}; cancel it, or change the pool"


def pod_names(pods: tuple[PodSlots, ...]) -> dict[str, str]:
    """Return the names of pods by UID."""
    return {pod.uid: pod.name for pod in pods}


def document(record: JobRecord, pod: str, ended: datetime | None) -> dict[str, Any]:
    """Return the job for `--json`. Slot and pod are null for a job without a slot."""
    return asdict(record) | {"slot": record.slot or None, "pod": pod or None, "ended": ended}


def lines(explanation: JobExplanation) -> Iterator[str]:
    """Yield the state and its reason, and for a job that waits for confirmation the text of its plan."""
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
    """Say in one line why the job is in its state."""
    record, place = explanation.record, explanation.place
    where = f"in slot {record.slot} of pod {explanation.pod or record.uid}"
    if record.state is JobState.WAITING:
        return _waiting(explanation)
    return {
        JobState.PLACED: f"{where}, attempt {record.attempt}: its runner has not started it yet",
        JobState.RUNNING: f"{where}, attempt {record.attempt}",
        JobState.RESERVED: f"{where}, which is reserved until somebody confirms plan {record.plan} or time is up",
        JobState.CONFIRMED: f"{where}, waits for serial key {record.serial_key}, which {place.key or 'nobody'} has",
        JobState.CANCELLING: f"{where}: its runner has been asked to stop it",
        JobState.UNKNOWN: "from before Redis was lost: it counts again once its runner or its client reports it",
        JobState.DONE: f"{record.outcome}: {record.result or 'no result'}",
    }[record.state]


def _waiting(explanation: JobExplanation) -> str:
    record, place = explanation.record, explanation.place
    if place.key:
        return f"waits for serial key {record.serial_key}, which {place.key} has; {place.ahead} before it"
    if place.later:
        return "could not be sent to its pod: it will be placed again in a moment"
    if explanation.hopeless:
        return explanation.hopeless
    idle = f"{explanation.idle} slots idle" + (
        f", of which {explanation.fitting or 'none'} fit" if explanation.idle else ""
    )
    return f"waits for a slot that takes {', '.join(record.phases)}: {place.ahead} before it, {idle}"


def inputs(signals: Mapping[str, Any]) -> Iterator[str]:
    """Yield the signals of a decision, one a line."""
    for name, value in signals.items():
        nothing = "never" if name.startswith("last_") else "none"
        yield f"{name.replace('_', ' ')}: {_said(value) or nothing}"


def _said(value: Any) -> str:
    """Format a signal, '' for nothing. The phases of one job or slot are joined by +."""
    if isinstance(value, dict):
        return ", ".join(f"{count} {kind.replace(',', '+')}" for kind, count in value.items() if count)
    return "" if value is None else str(value)
