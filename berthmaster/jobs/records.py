"""Jobs and pods as the slot scripts store them.

Stored records have letters as field names: with words a job would cost Redis 12 % more in all, and a pod 17 %. This
module, lua/lib/job_codec.lua and pod_codec.lua translate the letters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import orjson

from berthmaster.jobs.job import Job, JobRecord, JobState, Limit, Placed, WhenLost
from berthmaster.jobs.unreadable import listed, name, readable, texts, typed, uid


@dataclass(frozen=True)
class RecordField:
    """A field of a stored record, and its letter there."""

    name: str
    short: str
    optional: bool = False


JOB_FIELDS: Final = (
    RecordField("state", "s"),
    RecordField("phases", "f"),
    RecordField("phase_number", "i"),
    RecordField("attempt", "a"),
    RecordField("uid", "u", optional=True),
    RecordField("slot", "x", optional=True),
    RecordField("serial_key", "k"),
    RecordField("priority", "r"),
    RecordField("arrival", "q"),
    RecordField("hold_ms", "h"),
    RecordField("when_lost", "y"),
    RecordField("plan", "l", optional=True),
    RecordField("tries", "t"),
    RecordField("outcome", "o", optional=True),
    RecordField("result", "z", optional=True),
    RecordField("body", "b"),
    RecordField("queue_ms", "w", optional=True),
    RecordField("run_ms", "g", optional=True),
    RecordField("limit", "e", optional=True),
    RecordField("confirmed_by", "c", optional=True),
)
POD_FIELDS: Final = (
    RecordField("name", "n"),
    RecordField("view", "v"),
    RecordField("token", "k"),
    RecordField("reported_at", "t"),
    RecordField("closed_at", "c", optional=True),
    RecordField("layout", "l"),
    RecordField("slots", "s"),
    RecordField("version", "r", optional=True),
)
SLOT_FIELDS: Final = (
    RecordField("job", "j"),
    RecordField("attempt", "a"),
    RecordField("state", "s"),
    RecordField("grant", "g"),
)
TEXTS: Final = ("attempt", "uid", "plan", "outcome", "result", "confirmed_by")


def worded(stored: dict[str, Any], fields: Iterable[RecordField]) -> dict[str, Any]:
    """Return a stored record with words as field names. Raises KeyError if a field that every record has is missing."""
    return {field.name: stored[field.short] for field in fields if not field.optional or field.short in stored}


def job_fields(record: bytes) -> dict[str, Any]:
    """Return the fields of a stored job. Raises KeyError, TypeError or ValueError for what no script has written."""
    return worded(typed(orjson.loads(record), dict), JOB_FIELDS)


def pod_fields(record: bytes) -> dict[str, Any]:
    """Return the fields of a stored pod, with None for an idle slot. Raises the same errors as job_fields."""
    pod = worded(typed(orjson.loads(record), dict), POD_FIELDS)
    return pod | {"slots": [worded(slot, SLOT_FIELDS) if slot else None for slot in listed(pod["slots"])]}


@readable()
def decoded(job: str, record: bytes) -> JobRecord:
    """Return the record of a stored job. Raises UnreadableLedger."""
    stored = job_fields(record)
    strings = {field: typed(stored.get(field) or "", str) for field in TEXTS}
    phases, priority = texts(stored["phases"]), typed(stored["priority"], int)
    phase, slot = phases[typed(stored["phase_number"], int) - 1], typed(stored.get("slot") or 0, int)
    key, state = typed(stored["serial_key"], str), JobState(stored["state"])
    return JobRecord(
        job,
        state,
        phases,
        phase,
        slot=slot,
        serial_key=key,
        priority=priority,
        limit=Limit(stored["limit"]) if "limit" in stored else None,
        queue_ms=_length(stored.get("queue_ms")),
        run_ms=_length(stored.get("run_ms")),
        **strings,
    )


def _length(value: Any) -> int | None:
    """Return a limit in ms, None for none. Raises TypeError."""
    return None if value is None else typed(value, int)


def request_of(job: Job) -> dict[str, Any]:
    """Return a client's request as scripts and messages have it."""
    return {
        "phases": job.phases,
        "serial_key": job.serial_key,
        "priority": job.priority,
        "hold_ms": job.hold_ms,
        "when_lost": job.when_lost,
        "body": job.body,
        **job.limits,
    }


def requested(job: str, request: dict[str, Any]) -> Job:
    """Raises what a wrong type raises."""
    return Job(
        job,
        texts(request["phases"]),
        typed(request["serial_key"], str),
        typed(request["priority"], int),
        typed(request["hold_ms"], int),
        WhenLost(request["when_lost"]),
        typed(request["body"], str),
        _length(request.get("queue_ms")),
        _length(request.get("run_ms")),
    )


@readable()
def placed_of(replies: Iterable[bytes]) -> tuple[Placed, ...]:
    """Return what a script has placed; a pod's name becomes part of a queue's name. Raises UnreadableLedger."""
    return tuple(map(_placed, map(orjson.loads, replies)))


def _placed(message: dict[str, Any]) -> Placed:
    job, attempt, phase = (typed(message[key], str) for key in ("id", "attempt", "phase"))
    pod, tries = name(message["pod"]), typed(message["tries"], int)
    return Placed(job, attempt, uid(message["uid"]), pod, phase, requested(job, message["job"]), tries)
