"""What a client may nest in a job: what is taken can be sent."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from domain.slots.job import Job
from workers.jobs.messages import Body
from workers.tasks.job_payloads import Submission


def submitted(value: Any) -> Job:
    return Submission(id="j", pool="ci/runners", task="t", args=[value]).job(0)


@pytest.mark.parametrize("deep", [10, 150, 197, 198, 220, 250, 400, 900])
def test_a_job_that_is_taken_can_be_read_again(deep: int) -> None:
    value: Any = 1
    for _ in range(deep):
        value = [value]
    try:
        job = submitted(value)
    except (ValidationError, ValueError):
        assert deep > 150
        return
    assert Body.decoded(job.body).args == (value,)
