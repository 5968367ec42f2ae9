"""Exponential backoff with a bound and jitter.

The bound makes sure that a broken service is tried again, the growth spares it, and the jitter keeps a thousand keys
that failed together from coming back together.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class RetryPolicy:
    """The first wait, the longest wait, and the random share of each wait (0 to 1)."""

    first: timedelta = timedelta(seconds=1)
    longest: timedelta = timedelta(minutes=5)
    jitter: float = 0.5


def backoff(policy: RetryPolicy, tries: int, chance: float) -> timedelta:
    """The wait after `tries` earlier failures in a row; `chance` is a random number in [0, 1)."""
    doublings = min(max(tries, 0), 40)  # 2**40 seconds is beyond any bound, and far from overflow
    longest_seconds = policy.longest.total_seconds()
    full = min(policy.first.total_seconds() * 2.0**doublings, longest_seconds)
    return timedelta(seconds=full * (1 - policy.jitter * chance))
