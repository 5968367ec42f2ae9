"""Lengths of time in settings."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import TypeAdapter, ValidationError

from berthmaster.duration import Duration

adapter: TypeAdapter[timedelta] = TypeAdapter(Duration)


@pytest.mark.parametrize(
    "written, seconds",
    [
        ("30", 30),
        ("1.5", 1.5),
        ("200ms", 0.2),
        ("5m", 300),
        ("24h", 86400),
        ("2d", 172800),
        (" 7s ", 7),
        ("PT30S", 30),
        (3, 3),
    ],
)
def test_a_duration_is_read_as_people_write_it(written: object, seconds: float) -> None:
    assert adapter.validate_python(written) == timedelta(seconds=seconds)


@pytest.mark.parametrize("written", ["", "soon", "5 minutes", "5w", "-3s", "1e3"])
def test_what_is_no_duration_is_refused(written: str) -> None:
    with pytest.raises(ValidationError, match="is no length of time: write 90s, 10m or 24h"):
        adapter.validate_python(written)
