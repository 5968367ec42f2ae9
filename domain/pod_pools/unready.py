"""Pods of a template that never became ready: each is replaced after a longer pause, and after five in a row none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from domain.backoff import RetryPolicy, backoff

MOST: Final = 5
PAUSES: Final = RetryPolicy(timedelta(seconds=10), timedelta(minutes=5), 0)


@dataclass(frozen=True)
class Unready:
    """`count` in a row, of the template `revision`; `since` the last of them."""

    revision: str = ""
    count: int = 0
    since: timedelta = timedelta(0)


def blocked(unready: Unready, revision: str) -> str:
    """Why no pod of this template may be created now, '' when one may. A new template begins anew."""
    if unready.revision != revision or not unready.count:
        return ""
    if unready.count >= MOST:
        return f"{unready.count} pods in a row never became ready: no more are created until the template changes"
    left = backoff(PAUSES, unready.count - 1, 0) - unready.since
    if left <= timedelta(0):
        return ""
    return f"{unready.count} pods in a row never became ready: the next is created in {left.total_seconds():.0f} s"
