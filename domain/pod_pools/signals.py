"""What an autoscaler's tick sees of one pod pool, and the policy that it judges by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

Accepts = frozenset[str] | None
"""Kinds of jobs that a slot takes; None: any."""


@dataclass(frozen=True)
class PodTotals:
    """Pods of the pool, each counted once. `draining` are fenced or terminating: they give no slots any more."""

    open: int = 0  # registered and placing
    booting: int = 0  # created, not registered yet
    claimed: int = 0  # taken whole by claims
    draining: int = 0
    cordoned: int = 0
    free: int = 0  # those of the open ones that are warm: ready, and nothing is on them

    @property
    def giving(self) -> int:
        """Those with slots for jobs, now or soon."""
        return self.open + self.booting

    @property
    def all(self) -> int:
        return self.giving + self.claimed + self.draining + self.cordoned


@dataclass(frozen=True)
class PoolSignals:
    """`waiting` and `confirmed`: jobs by kind that could start were there a slot.

    Work behind a serial key or a person's decision is in neither. `idle`: free slots of open pods, by what they accept.
    `problem`: why the rest is not to be trusted, '' for nothing.
    """

    pods: PodTotals = PodTotals()
    used: int = 0
    reserved: int = 0
    idle: Mapping[Accepts, int] | None = None
    waiting: Mapping[str, int] | None = None
    confirmed: Mapping[str, int] | None = None
    claims: int = 0  # that wait for a pod more than there shall be
    last_up: datetime | None = None
    last_down: datetime | None = None
    problem: str = ""
    unfit: Mapping[str, int] | None = None  # jobs that wait for a slot such as no new pod has; in no other number

    @property
    def booting(self) -> int:
        """Those that no waiting claim is to have."""
        return max(0, self.pods.booting - self.claims)

    @property
    def jobs(self) -> dict[str, int]:
        """Those that wait, the confirmed ones first."""
        jobs = dict(self.confirmed or {})
        for kind, count in (self.waiting or {}).items():
            jobs[kind] = jobs.get(kind, 0) + count
        return jobs

    @property
    def has_work(self) -> bool:
        """Jobs run, have a slot, or wait."""
        return bool(self.used or self.reserved or any(self.jobs.values()))


@dataclass(frozen=True)
class ScalingPolicy:
    """`slots`: what each slot of a pod accepts. Shares are of all slots of the pods that give any."""

    slots: tuple[Accepts, ...]
    min_pods: int = 0
    max_pods: int = 10
    max_idle: int = 0
    up_above: float = 0.8
    down_below: float = 0.2
    step: int = 1
    up_cooldown: timedelta = timedelta(seconds=30)
    down_cooldown: timedelta = timedelta(minutes=5)
