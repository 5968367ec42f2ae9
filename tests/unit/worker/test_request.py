"""A job is refused where it is described if a worker would refuse it, and the error names the field."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from berthmaster.client import Request
from berthmaster.jobs.job import PoolLimits, WhenLost
from berthmaster.jobs.payloads import SubmitJob
from workers.tasks.payloads import read

GOOD: dict[str, Any] = {"id": "deploy-42", "pool": "ci/runners", "task": "deploy"}
HOUR, MILLISECOND = timedelta(hours=1), timedelta(milliseconds=1)
TEXTS = st.sampled_from(["", " ", "a", "a b", "a/b", "A/b", "ci/runners\n", "plan", "\x00", "é"]) | st.text(
    max_size=300
)
LIMITS = ("queue_timeout", "run_timeout")
VALUES = TEXTS | st.none() | st.booleans() | st.integers(-1, 11) | st.lists(TEXTS, max_size=3) | st.binary(max_size=2)


@pytest.mark.parametrize(
    "field, value",
    [
        *(("id", value) for value in ("", "a b", " a", "a\n", "a/b", "x" * 201, 7, None)),
        *(("pool", value) for value in ("", "runners", "ci/", "/runners", "a/b/c", "CI/runners", "ci/runners\n")),
        *(("task", value) for value in ("", "x" * 256, None)),
        *(("args", value) for value in ("shop", b"shop", {"a": 1}, 5, None, [object()], ["\udcff"])),
        *(("kwargs", value) for value in ("shop", ["shop"], None, {1: 2}, {"a": "\udcff"})),
        *(("phases", value) for value in ("plan", (), ("plan", "plan"), ("Plan",), ("",), tuple("abcdefghijk"), 5)),
        *(("serial_key", value) for value in ("x" * 201, None, 5)),
        *(("priority", value) for value in (-1, 10, "5", 5.0, True, None)),
        *(("when_lost", value) for value in ("", "again", None)),
        *((name, value) for name in LIMITS for value in (0, 60, "60s", True, timedelta(0), timedelta(days=366))),
    ],
)
def test_what_a_worker_refuses_is_refused_at_once_by_its_name(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{field}\b[^;]*: [^;]*$"):
        Request(**{**GOOD, field: value})


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"id": "A" * 200, "serial_key": "x" * 200, "task": "t" * 255, "priority": 0},
        {"args": ("shop", [1, None]), "kwargs": {"a": {"b": 1.5}}, "phases": ["plan", "apply"], "when_lost": "fail"},
        {"args": range(3), "when_lost": WhenLost.FAIL},
        {"queue_timeout": timedelta(seconds=1), "run_timeout": timedelta(days=365)},
    ],
)
def test_what_is_taken_here_a_worker_takes(more: dict[str, Any]) -> None:
    request = Request(**GOOD | more)
    sent = orjson.loads(orjson.dumps(request.encoded()))
    job = read(SubmitJob, (sent,), {}).job.job(PoolLimits(HOUR))
    assert (job.id, job.priority, job.when_lost) == (request.id, request.priority, request.when_lost)
    assert job.phases == tuple(request.phases)
    lengths = [request.queue_timeout, request.run_timeout]
    assert [length and length / MILLISECOND for length in lengths] == [job.queue_ms, job.run_ms]


@pytest.mark.row("SD-34")
def test_a_request_without_a_limit_says_nothing_of_limits() -> None:
    """Workers of an earlier version refuse a field that they do not know."""
    assert not Request(**GOOD).encoded().keys() & {*LIMITS}


@pytest.mark.row("SD-34")
@pytest.mark.parametrize("value", [0, 0.5, 366 * 86400, "60", True, float("nan"), float("inf")])
@pytest.mark.parametrize("field", LIMITS)
def test_a_plain_sender_gives_limits_in_seconds(field: str, value: Any) -> None:
    job = read(SubmitJob, ({**GOOD, field: 90},), {}).job.job()
    assert job.limits == {field.replace("timeout", "ms"): 90_000}
    with pytest.raises(ValidationError) as refused:
        SubmitJob.model_validate({"job": {**GOOD, field: value}})
    assert [error["loc"] for error in refused.value.errors()] == [("job", field)]


@pytest.mark.row("SD-34")
def test_limits_of_a_job_go_before_those_of_its_pool() -> None:
    pool = PoolLimits(HOUR, queue=2 * HOUR, run=3 * HOUR)
    submission = read(SubmitJob, ({**GOOD, "run_timeout": 60},), {}).job
    job = submission.job(pool)
    assert (job.hold_ms, job.queue_ms, job.run_ms) == (3_600_000, 7_200_000, 60_000)
    assert (submission.job().hold_ms, submission.job().limits) == (None, {"run_ms": 60_000})


def test_arguments_are_plain_json_from_the_beginning() -> None:
    request = Request(**GOOD, args=[{1}, (n for n in range(2))], kwargs={"when": {None: WhenLost.FAIL}})
    for _ in range(2):
        assert (request.encoded()["args"], request.encoded()["kwargs"]) == ([[1], [0, 1]], {"when": {"None": "fail"}})


def test_a_number_that_no_runner_could_read_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^args: "):
        Request(**GOOD, args=[10**5000])


def test_all_that_is_wrong_is_named() -> None:
    with pytest.raises(ValueError, match=r"^id: .*; phases: .*; priority: [^;]*$"):
        Request("", "ci/runners", "deploy", phases="plan", priority=10)


@given(st.dictionaries(st.sampled_from(sorted(Request.__dataclass_fields__)), VALUES, max_size=3))
def test_whatever_is_not_refused_here_a_worker_takes(more: dict[str, Any]) -> None:
    try:
        request = Request(**GOOD | more)
    except ValueError:
        return
    sent = orjson.loads(orjson.dumps(request.encoded()))
    assert read(SubmitJob, (sent,), {}).job.job().id == request.id
