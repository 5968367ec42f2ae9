"""Backoff for a template whose pods never become ready: each pause is longer, and after five pods no more come."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from domain.backoff import RetryPolicy, backoff

MOST: Final = 5
PAUSES: Final = RetryPolicy(timedelta(seconds=10), timedelta(minutes=5), 0)


@dataclass(frozen=True)
class Unready:
    """`count` pods in a row of template `revision` never became ready; `since` is the time since the last of them."""

    revision: str = ""
    count: int = 0
    since: timedelta = timedelta(0)


def blocked(unready: Unready, revision: str) -> str:
    """Why no pod of this template may be created now, '' when one may. A new template starts at zero."""
    if unready.revision != revision or not unready.count:
        return ""
    if unready.count >= MOST:
        return f"{unready.count} pods in a row never became ready: no more are created until the template changes"
    left = backoff(PAUSES, unready.count - 1, 0) - unready.since
    if left <= timedelta(0):
        return ""
    return f"{unready.count} pods in a row never became ready: the next is created in {left.total_seconds():.0f} s"
