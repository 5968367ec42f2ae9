"""The order in which waiting jobs, slots and pods are taken. The scripts of the ledger get these weights as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from berthmaster.jobs.job import JobState


def _key_line() -> dict[JobState, int]:
    return {state: 0 if state is JobState.CONFIRMED else 2**48 for state in JobState}


@dataclass(frozen=True)
class PlacementOrder:
    """The weights of the order: a lower rank goes first.

    The rank of a waiting job is its priority and then its arrival. In the line of a serial key a confirmed job comes
    before all others. A slot that accepts fewer kinds of jobs is filled before one that accepts more, so that slots for
    any job stay free for jobs that fit nowhere else. Of equal slots, the one on the fullest pod is filled, so that
    other pods empty.
    """

    priority: int = 2**44  # a step of a job's priority; less than that is its arrival
    key_line: Mapping[JobState, int] = field(default_factory=_key_line)  # a job of that state in the line of its key
    any_job: int = 2**20  # a slot that takes any job; less than that is the length of the name of the others' classes
    busy_slot: int = -1  # each slot of a pod that is not idle
    most_placed: int = 100  # in one call; the sweep goes on


ORDER: Final = PlacementOrder()
RESEND_MS: Final = 30_000
"""After which a job that was placed and has not started is sent again."""
