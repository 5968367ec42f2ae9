"""What other services may ask of jobs. An error names the field; nothing is half done."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, StringConstraints

from berthmaster.jobs.payload import Payload
from berthmaster.jobs.result import kept
from berthmaster.jobs.submission import JobId, Phase, Pool, Submission

Attempt = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,20}-[0-9]{1,20}$")]


class SubmitJob(Payload):
    """A request to submit a job."""

    job: Submission
    """The job, as an object."""


class OfJob(Payload):
    """A request about one job of a pod pool."""

    pool: Pool
    """`NAMESPACE/NAME` of its pod pool."""

    id: JobId
    """Of the job."""


class ConfirmJob(OfJob):
    """A request to run the next phase of a reserved job."""

    plan: Attempt
    """The attempt whose result was seen; another one is not confirmed by it."""


class CancelJob(OfJob):
    """A request to cancel a job."""


class FinishJob(OfJob):
    """For runners that speak Celery only."""

    phase: Phase
    """That has ended."""

    attempt: Attempt
    """That the runner was given."""

    outcome: Literal["succeeded", "failed", "cancelled"]
    """How it ended."""

    result: Annotated[str, AfterValidator(kept)] = ""
    """What it gave, as text; what is too long is cut."""
