"""Lengths of time as arguments of a client, and as its messages have them. It loads no pydantic."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

SHORT: Final = timedelta(minutes=2)
"""Below it, people read seconds."""


def in_words(length: timedelta) -> str:
    """Return a length of time for people: `0.1 s`, `90 s`, `10 min`, `1 h 5 min`; whole seconds from two minutes on."""
    if length < SHORT:
        return f"{round(length.total_seconds(), 3):.12g} s"
    minutes, seconds = divmod(round(length.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "min"), (seconds, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number)


def seconds(name: str, length: Any) -> float:
    """Return the length in seconds. Raises TypeError for anything but a timedelta, ValueError unless it is positive."""
    if not isinstance(length, timedelta):
        raise TypeError(f"{name}: must be a timedelta, such as timedelta(minutes=10), not {length!r}")
    if length <= timedelta(0):
        raise ValueError(f"{name}: must be more than nothing, not {in_words(length)}")
    return length.total_seconds()
