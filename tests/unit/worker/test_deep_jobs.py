"""What a client may put in a job: what is taken comes to its runner as it was."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from berthmaster.client import Request
from berthmaster.jobs.job import Job
from berthmaster.jobs.messages import Body
from berthmaster.jobs.submission import LARGEST, Submission


def submitted(value: Any) -> Job:
    return Submission(id="j", pool="ci/runners", task="t", args=[value]).job()


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


@pytest.mark.parametrize(
    "field", [{"args": ["x" * LARGEST]}, {"kwargs": {"state": "x" * LARGEST}}], ids=["args", "kwargs"]
)
def test_what_redis_should_not_hold_is_refused_by_its_name_with_the_way_out(field: dict[str, Any]) -> None:
    """By the client that is about to send it, as by the worker that meets it."""
    (name,) = field
    with pytest.raises(ValueError, match=rf"{name}: .* bytes of JSON, at most 262144: keep it elsewhere"):
        Request("j", "ci/runners", "t", **field)
    with pytest.raises(ValidationError):
        Submission(id="j", pool="ci/runners", task="t", **field)


def test_as_much_as_is_promised_is_taken() -> None:
    assert submitted("x" * (LARGEST - 4)).body
