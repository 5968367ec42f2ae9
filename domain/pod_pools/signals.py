"""The signals of one pod pool that the autoscaler decides from, and its policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

Accepts = frozenset[str] | None
"""Kinds of jobs that a slot accepts; None: any."""


@dataclass(frozen=True)
class PodTotals:
    """Pods of the pool. Each is counted once; `free`, `outdated`, `stalled` and `excess` are parts of other numbers.

    `draining` ones are fenced or terminating and give no slots any more. `lost` ones have terminated for longer than
    their grace, as on a node that is gone: nothing but their names is left in the pool.
    """

    open: int = 0  # ready and placing
    booting: int = 0  # created now or before, not open yet
    claimed: int = 0  # taken whole by claims
    draining: int = 0
    cordoned: int = 0
    free: int = 0  # open pods that are warm: nothing runs on them
    outdated: int = 0  # open pods that would be warm but for their template; counted in a freeze, which keeps them
    away: int = 0  # were open, and are not ready any more: they keep their jobs and take none
    stalled: int = 0  # away pods that nothing runs on
    missing: int = 0  # decided, but they cannot be created now, or are in no list yet
    excess: int = 0  # open, booting and away ones beyond what was decided: they go as soon as they are idle
    lost: int = 0

    @property
    def giving(self) -> int:
        """Pods with slots for jobs, now or soon."""
        return self.open + self.booting + self.missing

    @property
    def all(self) -> int:
        """Every pod of the pool, as the maximum counts them: without those that are lost."""
        return self.giving + self.claimed + self.draining + self.cordoned + self.away


@dataclass(frozen=True)
class PoolSignals:
    """What a run has observed of the pool.

    `waiting` counts by kind the jobs that could start if they had a slot. A job that waits for a serial key or for a
    person is not in it. `used`, `reserved` and `idle` count slots of open pods; `idle` by what they accept. `owed`
    counts the reservations of pods that end: each needs a slot elsewhere. `unfit` counts waiting jobs that no slot of a
    new pod accepts; they are counted nowhere else.
    """

    pods: PodTotals = PodTotals()
    used: int = 0
    reserved: int = 0
    owed: int = 0
    idle: Mapping[Accepts, int] = field(default_factory=dict)
    waiting: Mapping[str, int] = field(default_factory=dict)
    unfit: Mapping[str, int] = field(default_factory=dict)
    claims: int = 0  # claims that wait: each needs a pod beside the size
    last_up: datetime | None = None
    last_down: datetime | None = None

    @property
    def booting(self) -> int:
        """Pods that boot, or will, and are not for waiting claims."""
        return max(0, self.pods.booting + self.pods.missing - self.claims)

    @property
    def has_work(self) -> bool:
        """Tell whether jobs run, have a slot or wait."""
        return bool(self.used or self.reserved or any(self.waiting.values()))


@dataclass(frozen=True)
class ScalingPolicy:
    """What the spec says about scaling. `slots`: what each slot of a pod accepts. Shares are of slots for jobs.

    `hold_while_busy`: no pod goes while any slot is used or reserved. `frozen`: no idle pod goes. `schedules`: those in
    effect, in words.
    """

    slots: tuple[Accepts, ...]
    min_pods: int = 0
    max_pods: int = 10
    max_idle: int = 0
    up_above: float = 0.8
    down_below: float = 0.2
    step: int = 1
    up_cooldown: timedelta = timedelta(seconds=30)
    down_cooldown: timedelta = timedelta(minutes=5)
    hold_while_busy: bool = False
    frozen: bool = False
    schedules: tuple[str, ...] = ()
