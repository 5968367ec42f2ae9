"""What other services may ask of jobs. An error names the field; nothing is half done."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from domain.slots.job import Job, WhenLost
from domain.spec import each_once
from workers.jobs.messages import Body
from workers.jobs.result import kept
from workers.tasks.payloads import NAME, Payload

Pool = Annotated[str, StringConstraints(pattern=rf"^{NAME}/{NAME}$")]
JobId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$")]
Phase = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
Attempt = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,20}-[0-9]{1,20}$")]


def once(phases: list[str]) -> list[str]:
    """The name of a phase says where a job is."""
    return list(each_once(phases))


class Submission(Payload):
    """A job as a client describes it; see workers.client.Request."""

    id: JobId
    pool: Pool
    task: Annotated[str, StringConstraints(min_length=1, max_length=255)]
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    phases: Annotated[list[Phase], Field(min_length=1, max_length=10), AfterValidator(once)] = ["plan"]
    serial_key: Annotated[str, StringConstraints(max_length=200)] = ""
    priority: Annotated[int, Field(ge=0, le=9)] = 5
    when_lost: Literal["requeue", "fail"] = "requeue"

    def job(self, hold_ms: int) -> Job:
        body = Body(task=self.task, args=tuple(self.args), kwargs=self.kwargs).encoded()
        lost = WhenLost(self.when_lost)
        return Job(self.id, tuple(self.phases), self.serial_key, self.priority, hold_ms, lost, body)


class SubmitJob(Payload):
    job: Submission


class OfJob(Payload):
    pool: Pool
    id: JobId


class ConfirmJob(OfJob):
    plan: Attempt


class CancelJob(OfJob):
    pass


class FinishJob(OfJob):
    """For runners that speak Celery only."""

    phase: Phase
    attempt: Attempt
    outcome: Literal["succeeded", "failed", "cancelled"]
    result: Annotated[str, AfterValidator(kept)] = ""


class ReconcilePodPool(Payload):
    key: Annotated[str, StringConstraints(pattern=rf"^podpool/{NAME}/{NAME}$")]
    requested: bool = False
    """As for a pod."""
