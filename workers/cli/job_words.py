"""The state of a job and its reason, and the signals behind a decision about a pod pool, in words for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from berthmaster.jobs.job import JobRecord, JobState, Limit, accepted
from berthmaster.jobs.lifecycle import COUNTED
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.time_words import in_words
from domain.pod_pools.fitting import takes
from domain.pod_pools.signals import Accepts
from domain.quantity import quantity
from workers.stores.slots.pod_records import PodSlots
from workers.stores.slots.view import Place, Times, ended, place_of, times, view

LINES: Final = 10
"""How many lines of a result are shown."""
KEPT: Final = (JobState.RESERVED, JobState.CONFIRMED)
SLOTS: Final = ("used", "reserved", "idle")
"""The signals of a pool that count slots."""
LIMITS: Final[Mapping[JobState, Limit]] = {**COUNTED, JobState.RESERVED: Limit.RESERVATION}
"""The limit that counts in each state."""
NAMES: Final[Mapping[Limit, str]] = {
    Limit.QUEUE: "queue_timeout",
    Limit.RUN: "run_timeout",
    Limit.RESERVATION: "reservationTTL",
}
"""As a request or the spec of a pool calls them."""
STOP_TIME: Final = timedelta(minutes=2)
"""A runner that has not stopped a job for so long is named with the way out."""


@dataclass(frozen=True)
class JobExplanation:
    """A job, its place and what stands in its way.

    `pod`: the name of its pod, '' if it has none or the name is unknown. `idle`: slots of open pods; `fitting` of them
    accept the job. `ended`: when it ended, None before. `hopeless`: why no pod will ever accept it, '' if one may.
    `left`: time until its limit ends the job, None while no limit counts. `stopping`: time since its runner was asked
    to stop it, None for any other job.
    """

    record: JobRecord
    place: Place
    pod: str
    idle: int
    fitting: int
    ended: datetime | None
    deadline: datetime | None
    left: timedelta | None
    stopping: timedelta | None
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
    all_times = times(ledger)
    deadline = deadline_of(record, all_times)
    return JobExplanation(
        record,
        place_of(ledger, record),
        pod_names(pods).get(record.uid, ""),
        len(idle),
        sum(idle),
        ended(ledger, name),
        deadline,
        deadline - all_times.now if deadline else None,
        all_times.stopping.get(record.id) if record.state is JobState.CANCELLING else None,
        "" if any(takes(slot, kind) for slot in _slots(pods)) else _hopeless(ledger, kind),
    )


def deadline_of(record: JobRecord, all_times: Times) -> datetime | None:
    """Return when the limit of the job's state is over, None if it has none."""
    return all_times.deadlines.get(record.id) if record.state in LIMITS else None


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


def document(record: JobRecord, pod: str, ended: datetime | None, deadline: datetime | None) -> dict[str, Any]:
    """Return the job for `--json`. Slot and pod are null for a job without a slot.

    `limit`: the one that counts until the `deadline`, or whose time was over; null for none.
    """
    limit = LIMITS[record.state] if deadline else record.limit
    place = {"slot": record.slot or None, "pod": pod or None}
    return asdict(record) | place | {"ended": ended, "limit": limit, "deadline": deadline}


def lines(explanation: JobExplanation) -> Iterator[str]:
    """Yield the state and its reason, and for a job that waits for confirmation the text of its plan."""
    record = explanation.record
    yield f"{record.id}: {record.state}, phase {record.phase} of {', '.join(record.phases)}"
    yield f"  {reason(explanation)}"
    if record.confirmed_by:
        yield f"  confirmed by {record.confirmed_by}"
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
    left = _left(explanation)
    if record.state is JobState.WAITING:
        return f"{_waiting(explanation)}{left}"
    return {
        JobState.PLACED: f"{where}, attempt {record.attempt}: its runner has not started it yet{left}",
        JobState.RUNNING: f"{where}, attempt {record.attempt}{left}",
        JobState.RESERVED: f"{where}, which is reserved until somebody confirms plan {record.plan} or time is up{left}",
        JobState.CONFIRMED: f"{where}, waits for serial key {record.serial_key}, which {place.key or 'nobody'} has",
        JobState.CANCELLING: f"{where}: {_stopping(explanation)}",
        JobState.UNKNOWN: "from before Redis was lost: it counts again once its runner or its client reports it",
        JobState.DONE: f"{record.outcome}: {_limit_over(record)}{record.result or 'no result'}",
    }[record.state]


def as_time(time: timedelta) -> str:
    """Return a length of time in whole seconds, as `90 s` or `1 h 5 min`."""
    return in_words(timedelta(seconds=round(time.total_seconds())))


def unstopped(pod: str, since: timedelta) -> str:
    """Say what to do about a job whose runner does not stop it."""
    return f"its runner was asked {as_time(since)} ago to stop it and has not: delete pod {pod} to end it"


def _left(explanation: JobExplanation) -> str:
    """Say when the limit of the job is over, '' if none counts."""
    if explanation.left is None:
        return ""
    name = NAMES[LIMITS[explanation.record.state]]
    when = f"in {as_time(explanation.left)}" if explanation.left > timedelta(0) else "now"
    return f"; its {name} is over {when}"


def _stopping(explanation: JobExplanation) -> str:
    record, since = explanation.record, explanation.stopping
    because = f", because its {NAMES[record.limit]}{_limit_length(record)} is over" if record.limit else ""
    if since is None or since <= STOP_TIME:
        return f"its runner has been asked to stop it{because}"
    return f"{unstopped(explanation.pod or record.uid, since)}{because}"


def _limit_over(record: JobRecord) -> str:
    """Say which limit has ended a job, '' for none."""
    return f"its {NAMES[record.limit]}{_limit_length(record)} was over: " if record.limit else ""


def _limit_length(record: JobRecord) -> str:
    """Say how long the limit was that was over, '' if the record has no length of it."""
    length = {Limit.QUEUE: record.queue_ms, Limit.RUN: record.run_ms}.get(record.limit) if record.limit else None
    return "" if length is None else f" of {as_time(timedelta(milliseconds=length))}"


def _waiting(explanation: JobExplanation) -> str:
    record, place = explanation.record, explanation.place
    if place.key:
        return f"waits for serial key {record.serial_key}, which {place.key} has; {place.ahead} before it"
    if place.later:
        return "could not be sent to its pod: it will be placed again in a moment"
    if explanation.hopeless:
        return explanation.hopeless
    idle = f"{quantity(explanation.idle, 'slot')} idle" + (
        f", of which {explanation.fitting or 'none'} fit" if explanation.idle else ""
    )
    return f"waits for a slot that takes {', '.join(record.phases)}: {place.ahead} before it, {idle}"


def inputs(signals: Mapping[str, Any]) -> Iterator[str]:
    """Yield the signals of a decision, one a line."""
    for name, value in signals.items():
        nothing = "never" if name.startswith("last_") else "none"
        what = f"{name} slots" if name in SLOTS else name.replace("_", " ")
        yield f"{what}: {_said(value) or nothing}"


def _said(value: Any) -> str:
    """Format a signal, '' for nothing. The phases of one job or slot are joined by +."""
    if isinstance(value, list):
        return "; ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{count} {kind.replace(',', '+')}" for kind, count in value.items() if count)
    return "" if value is None else str(value)
