"""Jobs as the slot scripts keep them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import orjson

from berthmaster.jobs.job import Job, JobRecord, JobState, Placed, WhenLost
from berthmaster.jobs.unreadable import name, readable, texts, typed, uid

TEXTS: Final = {"attempt": "a", "uid": "u", "plan": "l", "outcome": "o", "result": "z"}


@readable()
def decoded(job: str, record: bytes) -> JobRecord:
    """Raises UnreadableLedger."""
    told = orjson.loads(record)
    strings = {long: typed(told.get(short) or "", str) for long, short in TEXTS.items()}
    phases, priority, slot = texts(told["f"]), typed(told["r"], int), typed(told.get("x") or 0, int)
    phase, key = phases[typed(told["i"], int) - 1], typed(told["k"], str)
    return JobRecord(job, JobState(told["s"]), phases, phase, slot=slot, serial_key=key, priority=priority, **strings)


def told_of(job: Job) -> dict[str, Any]:
    """What a client asked for, as scripts and messages have it."""
    return {
        "f": job.phases,
        "k": job.serial_key,
        "r": job.priority,
        "h": job.hold_ms,
        "y": job.when_lost,
        "b": job.body,
    }


def asked(job: str, told: dict[str, Any]) -> Job:
    """Raises what a wrong type raises."""
    numbers = (typed(told["r"], int), typed(told["h"], int))
    return Job(job, texts(told["f"]), typed(told["k"], str), *numbers, WhenLost(told["y"]), typed(told["b"], str))


@readable()
def placed_of(replies: Iterable[bytes]) -> tuple[Placed, ...]:
    """What a script has placed: the pod's name becomes a part of a queue's. Raises UnreadableLedger."""
    return tuple(map(_placed, map(orjson.loads, replies)))


def _placed(told: dict[str, Any]) -> Placed:
    job, attempt, phase = (typed(told[key], str) for key in ("id", "attempt", "phase"))
    pod, tries = name(told["pod"]), typed(told["tries"], int)
    return Placed(job, attempt, uid(told["uid"]), pod, phase, asked(job, told["job"]), tries)
