"""A pod as claims read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final


class Phase(StrEnum):
    """The value of a pod's label `phase`: where the pod is on its way from claim to claim."""

    UNKNOWN = "Unknown"  # not ready yet: no claim may have the pod
    IDLE = "Idle"
    BOUND = "Bound"
    DRAINING = "Draining"
    TERMINATING = "Terminating"  # no claim gets the pod again


USED: Final = (Phase.BOUND, Phase.DRAINING, Phase.TERMINATING)
"""Phases of pods that a claim has or had. Such a pod is closed for jobs."""


@dataclass(frozen=True)
class ClaimablePod:
    """A pod that a claim may have.

    Attributes:
        claimed_by: the UID of the pod's claim, '' if it has none.
        alive: the pod is Pending or Running; not Failed, Succeeded or Unknown.
        normal: the pod is ready, and no change is under way that a claim must wait for.
        terminating: the pod is being deleted.

    """

    name: str
    uid: str
    pool: str
    revision: str
    phase: Phase
    created: datetime
    claimed_by: str = ""
    owner: str = ""
    last_owner: str = ""
    alive: bool = True
    normal: bool = True
    cordoned: bool = False
    terminating: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def free(self) -> bool:
        """Whether a claim may take the pod."""
        return self.phase is Phase.IDLE and not self.claimed_by and self.alive and not self.terminating
