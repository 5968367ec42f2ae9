"""What a client may put in a job: what is taken comes to its runner as it was."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from domain.slots.job import Job
from workers.jobs.messages import Body
from workers.jobs.submission import Submission


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


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), 2**70, -(2**70), 0.1, "é\u2028", "", None, {"": [{}]}])
def test_values_come_as_they_were(value: Any) -> None:
    assert Body.decoded(submitted(value).body).args == (value,)


def test_no_number_stays_no_number() -> None:
    (found,) = Body.decoded(submitted(float("nan")).body).args
    assert math.isnan(found)
