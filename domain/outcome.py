"""What a run of a reconciler ends with, when it ends well.

An outcome is a value that the shell executes: a reconciler neither sleeps nor schedules. Failures are exceptions
(berthmaster.errors).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class Settled:
    """Nothing is left to do until something changes. `seen`: the newest snapshot that the run itself wrote, if any."""

    seen: object | None = None


@dataclass(frozen=True)
class Wait:
    """An expected wait, not an error: look again after `for_`, or sooner when something changes.

    `tries`: waits in a row that the next run is told of, so that it can make the next one longer.
    """

    for_: timedelta
    reason: str
    tries: int = 0


Outcome = Settled | Wait
