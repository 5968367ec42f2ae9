"""Decides the next step of each pod of a pool, from what the API server and the slot ledger say of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import cached_property
from typing import Final

from berthmaster.time_words import in_words
from domain.claims.pod import USED, Phase
from domain.pod_pools.new_pods import fingerprint


class LedgerState(StrEnum):
    """The state of a pod in the slot ledger. UNKNOWN: the pod has never reported."""

    UNKNOWN = ""
    NEW = "new"
    OPEN = "open"
    AWAY = "away"
    FENCED = "fenced"
    CLAIMED = "claimed"
    ENDING = "ending"


class PodStep(StrEnum):
    """What a run does for a pod."""

    NOTHING = "nothing"
    OPEN = "open"
    QUARANTINE = "quarantine"  # no new jobs until the pod is ready again
    END = "end"  # the pod terminates: no new jobs ever
    REMOVE = "remove"  # delete it, whatever runs on it
    RETIRE = "retire"  # delete it unless something runs on it: it was ready, and is not any more
    REPLACE = "replace"  # delete an idle pod with an older template or token
    LIFT = "lift"  # open a pod whose holder has gone silent
    HOLD = "hold"  # close a pod that a claim has, as Kubernetes says
    REGISTER = "register"  # report for a pod without a runner
    PROTECT = "protect"  # keep others from removing a pod with work
    EXPOSE = "expose"  # let others remove a pod without work


class PodCategory(StrEnum):
    """What a pod counts as in the status and for the size."""

    OPEN = "open"
    BOOTING = "booting"
    AWAY = "away"
    CORDONED = "cordoned"
    CLAIMED = "claimed"
    DRAINING = "draining"


CATEGORIES: Final = {
    LedgerState.UNKNOWN: PodCategory.BOOTING,
    LedgerState.NEW: PodCategory.BOOTING,
    LedgerState.AWAY: PodCategory.AWAY,
    LedgerState.OPEN: PodCategory.OPEN,
    LedgerState.CLAIMED: PodCategory.CLAIMED,
    LedgerState.FENCED: PodCategory.DRAINING,
    LedgerState.ENDING: PodCategory.DRAINING,
}
LATE: Final = timedelta(seconds=15)
"""A kubelet needs some time after the grace of a pod, and API servers have clocks of their own."""
WITH_SLOTS: Final = (PodCategory.OPEN, PodCategory.BOOTING, PodCategory.AWAY)


@dataclass(frozen=True)
class Member:
    """A pod of the pool, as a run observed it.

    `silent`: time since its runner's last report, and `closed`: since it was fenced, claimed or quarantined, both by
    Redis's clock. `overdue`: for how long it has terminated beyond its grace, by the API server's; 0 within the grace.
    `cordoned`: a person wants nothing new on it, so that it is not `ready`. `stage` and `claimed_by` are labels that
    claims write; `drain` is the id of its drain. `resting`: for how long the pod has been protected without work.
    """

    name: str
    uid: str
    revision: str
    age: timedelta
    phase: str = "Running"
    ready: bool = True
    terminating: bool = False
    view: LedgerState = LedgerState.UNKNOWN
    busy: int = 0
    silent: timedelta = timedelta(0)
    closed: timedelta = timedelta(0)
    overdue: timedelta = timedelta(0)
    node: str = ""
    token: str = ""
    secret: str = ""  # name of its runner token, '' for none
    runner: bool = True  # it has one, which reports
    opened: bool = True  # at any time, as its annotation says: else no job was ever placed on it
    stage: Phase = Phase.IDLE
    claimed_by: str = ""
    drain: str = ""
    cordoned: bool = False
    protected: bool = False
    resting: timedelta = timedelta(0)

    @cached_property
    def category(self) -> PodCategory:
        """What the pod counts as: each pod has one category."""
        if self.terminating:
            return PodCategory.DRAINING
        if self.held:
            return PodCategory.CLAIMED if self.claimed_by or self.stage is Phase.BOUND else PodCategory.DRAINING
        category = CATEGORIES[self.view]
        if self.cordoned and category in WITH_SLOTS:
            return PodCategory.CORDONED
        return self._open_or_away if category in (PodCategory.OPEN, PodCategory.AWAY) else category

    @property
    def _open_or_away(self) -> PodCategory:
        """Kubernetes knows first: a pod that is ready opens in this run, and one that is not is quarantined."""
        if not self.ready:
            return PodCategory.AWAY
        return PodCategory.OPEN if self.view is LedgerState.OPEN else PodCategory.BOOTING

    @property
    def lost(self) -> bool:
        """It should have ended long ago: most likely its node is gone, so that nobody confirms the deletion."""
        return self.terminating and self.overdue > LATE

    @property
    def stalled(self) -> bool:
        """It was ready and is not any more, and nothing runs on it."""
        return self.category is PodCategory.AWAY and not self.busy

    @property
    def gives_slots(self) -> bool:
        """Jobs may be placed on the pod, now or later."""
        return self.category in WITH_SLOTS

    @property
    def owes_report(self) -> bool:
        """After a loss of Redis only its runner may know of its jobs. A pod is written before jobs are placed on it."""
        return self.runner and self.opened

    @cached_property
    def held(self) -> bool:
        """A claim has the pod or has used it: nobody else may have it."""
        return bool(self.claimed_by) or self.stage in USED

    @property
    def drains(self) -> bool:
        """Its claim gave the pod back, and no person has cordoned it."""
        given_back = self.stage is Phase.DRAINING and not self.claimed_by and not self.terminating
        return given_back and not self.cordoned and not self.busy

    @property
    def has_work(self) -> bool:
        """Jobs run on it or keep slots, a claim has it, or the sessions of its last claim end.

        A drain does not end while the pod is cordoned: then whoever empties its node waits for nothing.
        """
        drains = self.stage is Phase.DRAINING and not self.cordoned
        return bool(self.busy or self.claimed_by) or self.stage is Phase.BOUND or drains

    @property
    def rests(self) -> bool:
        """It is protected and has no work, as far as anybody knows."""
        return self.protected and not self.has_work and not self.terminating and not self.unreported

    @property
    def unreported(self) -> bool:
        """Redis was lost, and the pod's runner has not said yet what runs there."""
        return self.owes_report and self.view is LedgerState.UNKNOWN

    @property
    def holder(self) -> str:
        """The token under which the pod is closed."""
        return self.claimed_by or self.drain or self.stage

    @property
    def fingerprint(self) -> str:
        """What the pod was created from."""
        return fingerprint(self.revision, self.secret)

    @property
    def idle(self) -> bool:
        """Nothing runs on the pod, so that it may be fenced."""
        return self.view is LedgerState.OPEN and not self.busy and not self.held


@dataclass(frozen=True)
class PodTimeouts:
    """How long a pod may take to become ready, at first and again (`ready`), and how long its runner may be silent.

    `take`: how long a claim may take to write its label on a pod that it has closed in the ledger. `rest`: how long a
    pod without work stays protected; None: the pool protects no pod.
    """

    ready: timedelta
    silence: timedelta = timedelta(minutes=2)
    take: timedelta = timedelta(seconds=30)
    rest: timedelta | None = None


def next_step(member: Member, current: str | None, timeouts: PodTimeouts) -> PodStep:
    """Decide what the pod needs. `current` is the fingerprint of new pods; with None none is replaced for another."""
    step = _step_by_state(member, current, timeouts)
    return _protection_step(member, timeouts.rest) if step is PodStep.NOTHING else step


def _protection_step(member: Member, rest: timedelta | None) -> PodStep:
    """Protect a pod at once, and expose it late: a pod that gets one job after the other is written once.

    A cordoned pod gets no other job.
    """
    if member.terminating or member.stage is Phase.TERMINATING:
        return PodStep.NOTHING
    if rest is not None and member.has_work:
        return PodStep.NOTHING if member.protected else PodStep.PROTECT
    rested = rest is None or (not member.unreported and (member.cordoned or member.resting >= rest))
    return PodStep.EXPOSE if member.protected and rested else PodStep.NOTHING


def _step_by_state(member: Member, current: str | None, timeouts: PodTimeouts) -> PodStep:
    if member.terminating:
        return PodStep.NOTHING if member.view in (LedgerState.UNKNOWN, LedgerState.ENDING) else PodStep.END
    if member.held:
        return _step_of_held_pod(member, timeouts)
    if member.view is LedgerState.ENDING or removal_reason(member, timeouts):
        return PodStep.REMOVE
    if member.view is LedgerState.FENCED or (member.view is LedgerState.CLAIMED and member.closed > timeouts.take):
        return PodStep.LIFT
    if member.view is LedgerState.UNKNOWN:
        return PodStep.REGISTER if member.ready and not member.runner else PodStep.NOTHING
    return PodStep.RETIRE if retirement_reason(member, timeouts) else _step_of_free_pod(member, current)


def _step_of_free_pod(member: Member, current: str | None) -> PodStep:
    """A pod that an older version opened has no phase yet: it is opened again."""
    if member.view is LedgerState.OPEN and not member.ready:
        return PodStep.QUARANTINE
    unopened = member.view in (LedgerState.NEW, LedgerState.AWAY) or (
        member.view is LedgerState.OPEN and member.stage is Phase.UNKNOWN
    )
    if unopened and member.ready:
        return PodStep.OPEN
    return PodStep.REPLACE if member.idle and member.fingerprint != (current or member.fingerprint) else PodStep.NOTHING


def _step_of_held_pod(member: Member, timeouts: PodTimeouts) -> PodStep:
    """Keep the pod closed for its claim. A job that runs there all the same ends first. The runner may be silent."""
    if member.busy:
        return PodStep.QUARANTINE if member.view is LedgerState.OPEN else PodStep.NOTHING
    if member.stage is Phase.TERMINATING and not member.claimed_by:
        return PodStep.REMOVE
    if member.view is LedgerState.UNKNOWN:
        return PodStep.NOTHING if member.runner and member.age <= timeouts.ready else PodStep.REGISTER
    matches = member.view is LedgerState.CLAIMED and member.claimed_by in ("", member.token)
    return PodStep.NOTHING if matches else PodStep.HOLD


def removal_reason(member: Member, timeouts: PodTimeouts) -> str | None:
    """Why a pod must be removed, None for one that may stay."""
    if member.phase in ("Failed", "Succeeded"):
        return f"it has {member.phase.lower()}"
    if member.view is LedgerState.UNKNOWN:
        return "it never reported" if member.age > timeouts.ready and not member.cordoned else None
    silent = member.runner and member.silent > timeouts.silence
    return f"its runner is silent for {in_words(member.silent)}" if silent else None


def retirement_reason(member: Member, timeouts: PodTimeouts) -> str | None:
    """Why a pod that is not ready is given up, None for one that may stay. A pod with jobs stays as long as they do."""
    if member.ready or member.cordoned or member.busy or member.held:
        return None
    if member.view is LedgerState.NEW:
        return f"it was not ready within {in_words(timeouts.ready)}" if member.age > timeouts.ready else None
    too_long = member.view is LedgerState.AWAY and member.closed > timeouts.ready
    return f"it has not been ready for {in_words(member.closed)}" if too_long else None


def free(member: Member) -> bool:
    """Tell whether the pod is warm: ready, and nothing runs on it."""
    return member.idle and member.ready and not member.terminating


def claimable(member: Member, revision: str) -> bool:
    """Tell whether a claim may take the pod now. `revision` is that of the pool's present template."""
    return free(member) and member.stage is Phase.IDLE and member.revision == revision


def surplus(members: Iterable[Member], count: int, current: str) -> tuple[Member, ...]:
    """Choose `count` pods to remove, or all that nothing runs on: stalled ones first, then outdated, then the youngest.

    A pod that a person has cordoned stays.
    """
    idle = sorted(
        (member for member in members if (member.idle or member.stalled) and not member.cordoned),
        key=lambda member: (not member.stalled, member.fingerprint == current, member.age),
    )
    return tuple(idle[: max(0, count)])
