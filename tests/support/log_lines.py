"""The lines that a transition logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Lines = Iterable[Mapping[str, Any]]
MISSING = object()


def told(lines: Lines, event: str, **facts: object) -> list[Mapping[str, Any]]:
    """Those of this event that have these facts."""
    return [
        line
        for line in lines
        if line["event"] == event and all(line.get(key, MISSING) == value for key, value in facts.items())
    ]
