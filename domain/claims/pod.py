"""A pod as claims read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from domain.claims.pod_request import PodTraits


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
class PoolPod:
    """A pod of a pool, as claims read it.

    Attributes:
        traits: what the request of a claim reads of the pod.
        revision: the revision of the template that the pod was created from, None if no label says so.
        claimed_by: the UID of the pod's claim, None if it has none.
        owner: the owner of the pod's claim, None if there is none.
        last_owner: the owner of the claim that gave the pod back last, None if there was none.
        alive: the pod is Pending or Running; not Failed, Succeeded or Unknown.
        normal: the pod is ready, and no change is under way that a claim must wait for.
        terminating: the pod is being deleted.
        lacks_ports: the pod asks for ports and has not all of them.
        protection: the pod's annotations that a change of its protection reads.
        version: the resourceVersion in which all this was read. None: a claim must read the pod before it writes it.

    """

    name: str
    uid: str
    traits: PodTraits
    revision: str | None
    phase: Phase
    created: datetime
    claimed_by: str | None = None
    owner: str | None = None
    last_owner: str | None = None
    alive: bool = True
    normal: bool = True
    cordoned: bool = False
    terminating: bool = False
    lacks_ports: bool = False
    version: str | None = None
    protection: Mapping[str, str] = field(default_factory=dict)

    @property
    def pool(self) -> str | None:
        """The pool that created the pod, None for a pod of no pool."""
        return self.traits.pool

    @property
    def free(self) -> bool:
        """Whether the pod is Idle, lives, and has no claim."""
        return self.phase is Phase.IDLE and not self.claimed_by and self.alive and not self.terminating
