"""What has become of a job and why, and what a decision about a pool was made from, in words for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from domain.scaling.fitting import takes
from domain.slots.job import JobRecord, JobState, accepted
from workers.stores.slots.ledger import SlotLedger
from workers.stores.slots.view import Place, PodSlots, ended, place_of, view

LINES: Final = 10
"""Lines of a result that are shown."""
KEPT: Final = (JobState.RESERVED, JobState.CONFIRMED)


@dataclass(frozen=True)
class JobStory:
    """`pod` is its name, '' for none that is known; `idle` slots of open pods, of which `fitting` take the job.
    `ended`: when, if it has.
    """

    record: JobRecord
    place: Place
    pod: str
    idle: int
    fitting: int
    ended: datetime | None


def story(ledger: SlotLedger, name: str) -> JobStory | None:
    record = ledger.record(name)
    if record is None:
        return None
    pods = view(ledger).pods
    idle = [
        takes(accepted(accepts), ",".join(record.phases))
        for pod in pods
        if pod.view == "open"
        for accepts, job in zip(pod.layout, pod.slots, strict=True)
        if not job
    ]
    pod, at = pod_names(pods).get(record.uid, ""), ended(ledger, name)
    return JobStory(record, place_of(ledger, record), pod, len(idle), sum(idle), at)


def pod_names(pods: tuple[PodSlots, ...]) -> dict[str, str]:
    """By uid."""
    return {pod.uid: pod.name for pod in pods}


def document(record: JobRecord, pod: str, ended: datetime | None) -> dict[str, Any]:
    """The same for programs; who has no slot has null there."""
    return asdict(record) | {"slot": record.slot or None, "pod": pod or None, "ended": ended}


def lines(told: JobStory) -> Iterator[str]:
    """What a person is to confirm is shown with what it says."""
    record = told.record
    yield f"{record.id}: {record.state}, phase {record.phase} of {', '.join(record.phases)}"
    yield f"  {reason(told)}"
    if record.state not in KEPT:
        return
    result = record.result.splitlines() or ["no result"]
    yield f"  plan {record.plan} says:"
    yield from (f"    {line}" for line in result[:LINES])
    if len(result) > LINES:
        yield f"    ... and {len(result) - LINES} more lines"


def reason(told: JobStory) -> str:
    """In one line."""
    record, place = told.record, told.place
    where = f"in slot {record.slot} of pod {told.pod or record.uid}"
    if record.state is JobState.WAITING:
        return _waiting(told)
    return {
        JobState.PLACED: f"{where}, attempt {record.attempt}: its runner has not started it yet",
        JobState.RUNNING: f"{where}, attempt {record.attempt}",
        JobState.RESERVED: f"{where}, which is kept until somebody confirms plan {record.plan}, or its time is over",
        JobState.CONFIRMED: f"{where}, waits for serial key {record.serial_key}, which {place.key or 'nobody'} has",
        JobState.CANCELLING: f"{where}: its runner was told to stop it",
        JobState.UNKNOWN: "from before Redis was lost: it counts once its runner, or its client, says it again",
        JobState.DONE: f"{record.outcome}: {record.result or 'no result'}",
    }[record.state]


def _waiting(told: JobStory) -> str:
    record, place = told.record, told.place
    if place.key:
        return f"waits for serial key {record.serial_key}, which {place.key} has; {place.ahead} before it"
    if place.later:
        return "could not be sent to its pod: it is placed again in a moment"
    idle = f"{told.idle} slots idle" + (f", of which {told.fitting or 'none'} fit" if told.idle else "")
    return f"waits for a slot that takes {', '.join(record.phases)}: {place.ahead} before it, {idle}"


def inputs(seen: Mapping[str, Any]) -> Iterator[str]:
    """What a decision was made from, one line each."""
    for name, value in seen.items():
        nothing = "never" if name.startswith("last_") else "none"
        yield f"{name.replace('_', ' ')}: {_said(value) or nothing}"


def _said(value: Any) -> str:
    """'' for nothing; kinds that one job or slot has together are joined by +."""
    if isinstance(value, dict):
        return ", ".join(f"{count} {kind.replace(',', '+')}" for kind, count in value.items() if count)
    return "" if value is None else str(value)
