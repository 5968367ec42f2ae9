"""Jobs as the slot scripts keep them."""

from __future__ import annotations

from typing import Any, Final

import orjson

from domain.slots.job import Job, JobRecord, JobState, WhenLost

TEXTS: Final = {"attempt": "a", "uid": "u", "plan": "l", "outcome": "o", "result": "z"}


def decoded(job: str, record: bytes) -> JobRecord:
    told = orjson.loads(record)
    texts = {long: told.get(short) or "" for long, short in TEXTS.items()}
    phase, slot = told["f"][told["i"] - 1], told.get("x") or 0
    return JobRecord(
        job, JobState(told["s"]), tuple(told["f"]), phase, slot=slot, serial_key=told["k"], priority=told["r"], **texts
    )


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
    return Job(job, tuple(told["f"]), told["k"], told["r"], told["h"], WhenLost(told["y"]), told["b"])
