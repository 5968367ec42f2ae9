"""A job is refused where it is described if a worker would refuse it, and the error names the field."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from berthmaster.client import Request
from berthmaster.jobs.job import WhenLost
from berthmaster.jobs.payloads import SubmitJob
from workers.tasks.payloads import read

GOOD: dict[str, Any] = {"id": "deploy-42", "pool": "ci/runners", "task": "deploy"}
TEXTS = st.sampled_from(["", " ", "a", "a b", "a/b", "A/b", "ci/runners\n", "plan", "\x00", "é"]) | st.text(
    max_size=300
)
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
    ],
)
def test_what_is_taken_here_a_worker_takes(more: dict[str, Any]) -> None:
    request = Request(**GOOD | more)
    sent = orjson.loads(orjson.dumps(request.encoded()))
    job = read(SubmitJob, (sent,), {}).job.job(1)
    assert (job.id, job.priority, job.when_lost) == (request.id, request.priority, request.when_lost)
    assert job.phases == tuple(request.phases)


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
    assert read(SubmitJob, (sent,), {}).job.job(1).id == request.id
