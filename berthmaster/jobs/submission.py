"""The model of a submission, for the client, which refuses a bad one at once, and for the worker."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic_core import to_json

from berthmaster.jobs.job import Job, WhenLost
from berthmaster.jobs.messages import Body
from berthmaster.names import NAME
from berthmaster.spec import each_once

LARGEST: Final = 256 * 1024
"""Bytes: each job is in Redis' memory, in its log, and in a message for each try of each phase."""

Pool = Annotated[str, StringConstraints(pattern=rf"^{NAME}/{NAME}$")]
JobId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$")]
Phase = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]


def once(phases: list[str]) -> list[str]:
    """Return the phases. Raises ValueError for a repeated one: the name of a phase says where a job is."""
    return list(each_once(phases))


def storable(value: Any) -> Any:
    """Return the value. Raises ValueError if it has no JSON, such as half a character, or is too large for Redis."""
    if (size := len(to_json(value))) > LARGEST:
        raise ValueError(f"is {size} bytes of JSON, at most {LARGEST}: keep it elsewhere and send where it is")
    return value


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

    def job(self, hold_ms: int) -> Job:
        """Return the job for the slot ledger; `hold_ms` limits each reservation."""
        body = Body(task=self.task, args=tuple(self.args), kwargs=self.kwargs).encoded()
        lost = WhenLost(self.when_lost)
        return Job(self.id, tuple(self.phases), self.serial_key, self.priority, hold_ms, lost, body)


def faults(error: ValidationError) -> dict[str, str]:
    """Return field -> what is wrong with it."""
    return {
        ".".join(map(str, problem["loc"])) or "payload": problem["msg"] for problem in error.errors(include_url=False)
    }
