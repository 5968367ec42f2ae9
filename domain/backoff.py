"""How long to wait before another attempt: bounded, exponential, spread by chance.

The bound keeps a broken neighbour from being forgotten, the growth keeps it from being hammered, and the spread keeps a
thousand keys that failed together from coming back together.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class RetryPolicy:
    """The first wait, the longest one, and the share of each wait (0 to 1) that is left to chance."""

    first: timedelta = timedelta(seconds=1)
    longest: timedelta = timedelta(minutes=5)
    jitter: float = 0.5


def backoff(policy: RetryPolicy, tries: int, chance: float) -> timedelta:
    """The wait after `tries` earlier failures in a row; `chance` is a random number in [0, 1)."""
    doublings = min(max(tries, 0), 40)  # 2**40 seconds is beyond any bound, and far from overflow
    longest_seconds = policy.longest.total_seconds()
    whole = min(policy.first.total_seconds() * 2.0**doublings, longest_seconds)
    return timedelta(seconds=whole * (1 - policy.jitter * chance))
