"""The signals of one pod pool that the autoscaler decides from, and its policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

Accepts = frozenset[str] | None
"""Kinds of jobs that a slot accepts; None: any."""


@dataclass(frozen=True)
class PodTotals:
    """Pods of the pool, each counted once. `draining` ones are fenced or terminating and give no slots any more."""

    open: int = 0  # registered and placing
    booting: int = 0  # created, not registered yet
    claimed: int = 0  # taken whole by claims
    draining: int = 0
    cordoned: int = 0
    free: int = 0  # open pods that are warm: ready, and nothing runs on them

    @property
    def giving(self) -> int:
        """Pods with slots for jobs, now or soon."""
        return self.open + self.booting

    @property
    def all(self) -> int:
        """Every pod of the pool, as the maximum counts them."""
        return self.giving + self.claimed + self.draining + self.cordoned


@dataclass(frozen=True)
class PoolSignals:
    """What a run has observed of the pool.

    `waiting` and `confirmed` count by kind the jobs that could start if they had a slot. Jobs behind a serial key or a
    person's decision are in neither. `idle` counts free slots of open pods by what they accept. `problem`: why the
    other signals cannot be trusted, '' when they can.
    """

    pods: PodTotals = PodTotals()
    used: int = 0
    reserved: int = 0
    idle: Mapping[Accepts, int] | None = None
    waiting: Mapping[str, int] | None = None
    confirmed: Mapping[str, int] | None = None
    claims: int = 0  # claims that wait: each needs a pod beside the size
    last_up: datetime | None = None
    last_down: datetime | None = None
    problem: str = ""
    unfit: Mapping[str, int] | None = None  # waiting jobs that no slot of a new pod accepts; counted nowhere else

    @property
    def booting(self) -> int:
        """Booting pods that are not for waiting claims."""
        return max(0, self.pods.booting - self.claims)

    @property
    def jobs(self) -> dict[str, int]:
        """Waiting jobs by kind, the confirmed ones first."""
        jobs = dict(self.confirmed or {})
        for kind, count in (self.waiting or {}).items():
            jobs[kind] = jobs.get(kind, 0) + count
        return jobs

    @property
    def has_work(self) -> bool:
        """Tell whether jobs run, have a slot or wait."""
        return bool(self.used or self.reserved or any(self.jobs.values()))


@dataclass(frozen=True)
class ScalingPolicy:
    """What the spec says about scaling. `slots`: what each slot of a pod accepts. Shares are of all slots for jobs."""

    slots: tuple[Accepts, ...]
    min_pods: int = 0
    max_pods: int = 10
    max_idle: int = 0
    up_above: float = 0.8
    down_below: float = 0.2
    step: int = 1
    up_cooldown: timedelta = timedelta(seconds=30)
    down_cooldown: timedelta = timedelta(minutes=5)
