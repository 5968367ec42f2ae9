"""Lengths of time in settings."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import TypeAdapter, ValidationError

from berthmaster.duration import Duration
from berthmaster.time_words import in_words

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


@pytest.mark.row("CL-44")
@pytest.mark.parametrize(
    "length, words",
    [
        (timedelta(seconds=5), "5 s"),
        (timedelta(seconds=90), "90 s"),
        (timedelta(milliseconds=100), "0.1 s"),
        (timedelta(minutes=10), "10 min"),
        (timedelta(days=1), "24 h"),
        (timedelta(hours=1, minutes=5, seconds=0.4), "1 h 5 min"),
        (timedelta(minutes=4, seconds=32), "4 min 32 s"),
        (timedelta(0), "0 s"),
        (timedelta(seconds=-1), "-1 s"),
    ],
)
def test_a_duration_is_written_with_its_unit(length: timedelta, words: str) -> None:
    assert in_words(length) == words
