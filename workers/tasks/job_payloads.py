"""What other services may ask of jobs. An error names the field; nothing is half done."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, StringConstraints

from domain.spec import NAME
from workers.jobs.result import kept
from workers.jobs.submission import JobId, Phase, Pool, Submission
from workers.tasks.payloads import Payload

Attempt = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,20}-[0-9]{1,20}$")]


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
