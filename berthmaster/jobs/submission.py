"""The model of a submission, for the client, which refuses a bad one at once, and for the worker."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic_core import to_json

from berthmaster.forms import A_SHORT_NAME, LETTERS, fault_in_words, form
from berthmaster.jobs.job import Job, PoolLimits, WhenLost
from berthmaster.jobs.messages import Body
from berthmaster.names import NAME
from berthmaster.spec import each_once

LARGEST: Final = 256 * 1024
"""Bytes: each job is in Redis' memory, in its log, and in a message for each try of each phase."""

Pool = Annotated[str, StringConstraints(pattern=form(rf"^{NAME}/{NAME}$", f"NAMESPACE/NAME, each of {LETTERS}"))]
JOB_ID: Final = form(
    r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$",
    "the id of a job: 1 to 200 letters, digits, '.', '_', ':' and '-', with a letter or digit first",
)
JobId = Annotated[str, StringConstraints(pattern=JOB_ID)]
Phase = Annotated[str, StringConstraints(pattern=form(r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", A_SHORT_NAME))]
Seconds = Annotated[float, Field(ge=1, le=8760 * 3600)]


def once(phases: list[str]) -> list[str]:
    """Return the phases. Raises ValueError for a repeated one: the name of a phase says where a job is."""
    return list(each_once(phases))


def storable(value: Any) -> Any:
    """Return the value as plain JSON has it: a job is the same whether a client or a worker places it.

    Raises ValueError if it has no JSON, as half a character and a number of 5,000 digits have none, or is too large.
    """
    text = to_json(value)
    if len(text) > LARGEST:
        raise ValueError(f"is {len(text)} bytes of JSON, at most {LARGEST}: keep it elsewhere and send where it is")
    return json.loads(text)


class Submission(BaseModel):
    """A job as a client describes it; see berthmaster.client.Request."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)

    id: JobId
    """Of the client's choice: the same id is the same job, however often it is submitted."""

    pool: Pool
    """`NAMESPACE/NAME` of the pod pool whose runners do it."""

    task: Annotated[str, StringConstraints(min_length=1, max_length=255)]
    """Name of a Celery task of the runners, which is called once a phase."""

    args: Annotated[list[Any], AfterValidator(storable)] = []
    """Its arguments, at most 256 KiB as JSON."""

    kwargs: Annotated[dict[str, Any], AfterValidator(storable)] = {}
    """Its arguments by name, at most 256 KiB as JSON."""

    phases: Annotated[list[Phase], Field(min_length=1, max_length=10), AfterValidator(once)] = ["plan"]
    """In one slot, one after the other; after each but the last the job waits for a person."""

    serial_key: Annotated[str, StringConstraints(max_length=200)] = ""
    """Of the jobs of one key one at a time runs a phase that only slots for any job take."""

    priority: Annotated[int, Field(ge=0, le=9)] = 5
    """0 goes first."""

    when_lost: Literal["requeue", "fail"] = "requeue"
    """Whether a first phase runs again whose runner was lost; a later phase never does."""

    queue_timeout: Seconds | None = None
    """Seconds that it may wait for its first start, a year at most; null: as the `queueTimeout` of the pool says."""

    run_timeout: Seconds | None = None
    """Seconds that each attempt of a phase may run, a year at most; null: as the `runTimeout` of the pool says."""

    def job(self, limits: PoolLimits | None = None) -> Job:
        """Return the job for the slot ledger; `limits`: those of its pool, instead of what the ledger knows."""
        body = Body(task=self.task, args=tuple(self.args), kwargs=self.kwargs).encoded()
        hold, queue, run = (limits.reservation, limits.queue, limits.run) if limits else (None, None, None)
        return Job(
            self.id,
            tuple(self.phases),
            self.serial_key,
            self.priority,
            hold_ms=_milliseconds(None, hold),
            when_lost=WhenLost(self.when_lost),
            body=body,
            queue_ms=_milliseconds(self.queue_timeout, queue),
            run_ms=_milliseconds(self.run_timeout, run),
        )


def _milliseconds(seconds: float | None, default: timedelta | None) -> int | None:
    if seconds is None:
        return None if default is None else default // timedelta(milliseconds=1)
    return round(seconds * 1000)


def faults(error: ValidationError) -> dict[str, str]:
    """Return field -> what is wrong with it."""
    return {
        ".".join(map(str, problem["loc"])) or "payload": fault_in_words(problem)
        for problem in error.errors(include_url=False)
    }
