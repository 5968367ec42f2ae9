"""A pod as claims see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final


class Phase(StrEnum):
    """Label `phase`: where a pod is on its way from claim to claim."""

    UNKNOWN = "Unknown"  # not ready yet: nobody may have it
    IDLE = "Idle"
    BOUND = "Bound"
    DRAINING = "Draining"
    TERMINATING = "Terminating"  # used, and never handed out again


USED: Final = (Phase.BOUND, Phase.DRAINING, Phase.TERMINATING)
"""A claim has it, or had it: it is closed."""


@dataclass(frozen=True)
class ClaimablePod:
    """`claimed_by`: UID of a claim, '' of none. `alive`: it runs, or is about to; not Failed, Succeeded or Unknown.

    `normal`: ready, and nothing is being done to it that a claim must wait for.
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
        """Only such a pod becomes claimed."""
        return self.phase is Phase.IDLE and not self.claimed_by and self.alive and not self.terminating
