"""What other services may ask of jobs. An error names the field; nothing is half done."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, StringConstraints

from berthmaster.forms import form
from berthmaster.jobs.job import ATTEMPT
from berthmaster.jobs.payload import Payload
from berthmaster.jobs.result import kept
from berthmaster.jobs.submission import JobId, Phase, Pool, Submission

Person = Annotated[str, StringConstraints(min_length=1, max_length=200)]
OF_ATTEMPT: Final = form(
    f"^{ATTEMPT.pattern}$",
    "the id of an attempt, such as 12-3: that of a plan is in its result, and `berthmaster explain job` shows it",
)
Attempt = Annotated[str, StringConstraints(pattern=OF_ATTEMPT)]


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

    by: Person | None = None
    """The name of who has decided, for people."""


class CancelJob(OfJob):
    """A request to cancel a job."""

    by: Person | None = None
    """The name of who has decided, for people."""


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
