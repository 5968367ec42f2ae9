"""The log: JSON lines, whoever writes them."""

from __future__ import annotations

import logging
from typing import Any

import orjson
import pytest
import structlog

from workers.settings import LogSettings
from workers.telemetry.logs import SHARED, formatter


def line(event: dict[str, Any] | str, **details: Any) -> dict[str, Any]:
    """As the handler writes a record: one of structlog's (a dict) or of the standard library (a text)."""
    record = logging.LogRecord("celery.worker", logging.WARNING, __file__, 1, event, (), None)
    record.__dict__.update(details)
    written: dict[str, Any] = orjson.loads(formatter(LogSettings(format="json")).format(record))
    return written


@pytest.mark.row("EV-17")
def test_a_library_s_line_is_json_with_the_key_of_the_run_that_it_belongs_to() -> None:
    with structlog.contextvars.bound_contextvars(key="pod/games/lobby-0"):
        written = line("connection lost")
    assert written["event"] == "connection lost"
    assert written["key"] == "pod/games/lobby-0"
    assert {"level", "logger", "timestamp"} <= written.keys()


@pytest.mark.row("EV-17")
def test_values_that_json_does_not_know_are_written_as_text() -> None:
    assert line("odd", where={1})["where"] == "{1}"


def test_every_line_carries_what_was_bound() -> None:
    assert structlog.contextvars.merge_contextvars in SHARED
