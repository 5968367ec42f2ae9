"""Backoff for a template whose pods never become ready: each pause is longer, then one pod at a time is tried."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from domain.backoff import RetryPolicy, backoff
from domain.quantity import quantity

MOST: Final = 5
PAUSES: Final = RetryPolicy(timedelta(seconds=10), timedelta(minutes=5), 0)


@dataclass(frozen=True)
class Unready:
    """`count` pods in a row of template `revision` never became ready; `since` is the time since the last of them."""

    revision: str = ""
    count: int = 0
    since: timedelta = timedelta(0)


@dataclass(frozen=True)
class Allowance:
    """How many pods may be created now, None for any number. `obstacle`: why not all, '' where nothing is wrong."""

    pods: int | None = None
    obstacle: str = ""


ANY_NUMBER: Final = Allowance()


def allowance(unready: Unready, revision: str, booting: int) -> Allowance:
    """How many pods of this template may be created now. A new template starts at zero.

    From the fifth such pod on, one pod is tried after each longest pause, for ever: what was wrong may be mended by
    then. `booting`: pods of the pool that boot already.
    """
    if unready.revision != revision or not unready.count:
        return ANY_NUMBER
    words = f"{quantity(unready.count, 'pod')} in a row never became ready"
    left = backoff(PAUSES, unready.count - 1, 0) if unready.count < MOST else PAUSES.longest
    left -= unready.since
    if unready.count < MOST:
        seconds = f"{left.total_seconds():.0f} s"
        return Allowance(0, f"{words}: the next is created in {seconds}") if left > timedelta(0) else ANY_NUMBER
    if left > timedelta(0):  # in minutes, since the status changes with the words
        return Allowance(0, f"{words}: one more is tried in {math.ceil(left / timedelta(minutes=1))} min")
    if booting:
        return Allowance(0, f"{words}: one more is tried, and others are created once it is ready")
    return Allowance(1, f"{words}: one more is tried, and others are created once it is ready")
