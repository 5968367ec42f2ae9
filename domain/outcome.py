"""How a run of a reconciler ends when nothing failed.

An outcome is a value that workers.reconcile carries out: a reconciler neither sleeps nor schedules. Failures are
exceptions (berthmaster.errors).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class Settled:
    """Nothing is left to do until something changes."""


@dataclass(frozen=True)
class Wait:
    """An expected wait, not an error: the key runs again after `for_`, or sooner when something changes.

    `tries` counts the waits in a row. The next run receives it, so that it can make its own wait longer.
    """

    for_: timedelta
    reason: str
    tries: int = 0


Outcome = Settled | Wait
