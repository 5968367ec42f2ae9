"""What each pod of a pool needs now: opened, set aside, replaced or removed. Pure; one pod, one answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from domain.claims.pod import USED, Phase


class LedgerState(StrEnum):
    """What the slot ledger thinks of a pod; UNKNOWN: it has never reported."""

    UNKNOWN = ""
    NEW = "new"
    OPEN = "open"
    AWAY = "away"
    FENCED = "fenced"
    CLAIMED = "claimed"
    ENDING = "ending"


class PodStep(StrEnum):
    NOTHING = "nothing"
    OPEN = "open"
    QUARANTINE = "quarantine"  # no new jobs until it is ready again
    END = "end"  # it goes: no new jobs ever
    REMOVE = "remove"  # it is of no use any more, whatever runs on it
    REPLACE = "replace"  # of an older template or token, and idle
    LIFT = "lift"  # closed by a holder that has gone silent
    HOLD = "hold"  # Kubernetes says that somebody has it whole
    REGISTER = "register"  # nobody else reports for it


class PodCategory(StrEnum):
    """What a pod is counted as."""

    OPEN = "open"
    BOOTING = "booting"
    AWAY = "away"
    CORDONED = "cordoned"
    CLAIMED = "claimed"
    DRAINING = "draining"


PLACES = {
    LedgerState.UNKNOWN: PodCategory.BOOTING,
    LedgerState.NEW: PodCategory.BOOTING,
    LedgerState.AWAY: PodCategory.AWAY,
    LedgerState.OPEN: PodCategory.OPEN,
}
PLACES |= {
    LedgerState.CLAIMED: PodCategory.CLAIMED,
    LedgerState.FENCED: PodCategory.DRAINING,
    LedgerState.ENDING: PodCategory.DRAINING,
}


@dataclass(frozen=True)
class Member:
    """`silent`: since its runner's last report; `closed`: since it was fenced or claimed. In the clocks of servers.

    `cordoned`: a person wants nothing new on it, so that it counts as not ready. `stage`, `claimed_by`, `drain`: what
    its labels say of claims, and the id of its drain.
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
    token: str = ""
    secret: str = ""  # name of the runner token that it has, '' for none
    runner: bool = True  # reports for it
    opened: bool = True  # ever, as far as the pod says: else no job was placed on it
    stage: Phase = Phase.IDLE
    claimed_by: str = ""
    drain: str = ""
    cordoned: bool = False

    @property
    def category(self) -> PodCategory:
        if self.terminating:
            return PodCategory.DRAINING
        if self.held:
            return PodCategory.CLAIMED if self.claimed_by or self.stage is Phase.BOUND else PodCategory.DRAINING
        category = PLACES[self.view]
        return (
            PodCategory.CORDONED
            if self.cordoned and category in (PodCategory.OPEN, PodCategory.BOOTING, PodCategory.AWAY)
            else category
        )

    @property
    def gives_slots(self) -> bool:
        return self.category in (PodCategory.OPEN, PodCategory.BOOTING, PodCategory.AWAY)

    @property
    def owes_report(self) -> bool:
        """After a loss of Redis: only it may know of jobs there. A pod is written before it is opened."""
        return self.runner and self.opened

    @property
    def held(self) -> bool:
        """It is, or was, a claim's, and nobody may have it."""
        return bool(self.claimed_by) or self.stage in USED

    @property
    def drains(self) -> bool:
        """Given back, and not held up by a person."""
        given_back = self.stage is Phase.DRAINING and not self.claimed_by and not self.terminating
        return given_back and not self.cordoned and not self.busy

    @property
    def holder(self) -> str:
        """Under whose token it is closed."""
        return self.claimed_by or self.drain or self.stage

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.revision, self.secret)

    @property
    def idle(self) -> bool:
        """Nothing is on it, and it may be fenced."""
        return self.view is LedgerState.OPEN and not self.busy and not self.held


@dataclass(frozen=True)
class PodTimeouts:
    """How long a pod may take to report first, and to stay silent."""

    ready: timedelta
    silence: timedelta = timedelta(minutes=2)
    take: timedelta = timedelta(seconds=30)  # from the ledger to the label


def fingerprint(revision: str, secret: str) -> str:
    """What a pod is made of: pods that are made of something else are replaced."""
    return f"{revision} {secret}".strip()


def next_step(member: Member, now: str, timeouts: PodTimeouts) -> PodStep:
    """`now`: what pods are made of at present."""
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
    return _step_of_free_pod(member, now)


def _step_of_free_pod(member: Member, now: str) -> PodStep:
    """A pod that was opened before claims were known has no phase yet."""
    if member.view is LedgerState.OPEN and not member.ready:
        return PodStep.QUARANTINE
    unopened = member.view in (LedgerState.NEW, LedgerState.AWAY) or (
        member.view is LedgerState.OPEN and member.stage is Phase.UNKNOWN
    )
    if unopened and member.ready:
        return PodStep.OPEN
    return PodStep.REPLACE if member.idle and member.fingerprint != now else PodStep.NOTHING


def _step_of_held_pod(member: Member, timeouts: PodTimeouts) -> PodStep:
    """A claim took it when nothing ran on it. What runs all the same ends first; a runner's silence is no reason."""
    if member.busy:
        return PodStep.QUARANTINE if member.view is LedgerState.OPEN else PodStep.NOTHING
    if member.stage is Phase.TERMINATING and not member.claimed_by:
        return PodStep.REMOVE
    if member.view is LedgerState.UNKNOWN:
        return PodStep.NOTHING if member.runner and member.age <= timeouts.ready else PodStep.REGISTER
    matches = member.view is LedgerState.CLAIMED and member.claimed_by in ("", member.token)
    return PodStep.NOTHING if matches else PodStep.HOLD


def removal_reason(member: Member, timeouts: PodTimeouts) -> str | None:
    """Why a pod is of no use any more, None for one that is."""
    if member.phase in ("Failed", "Succeeded"):
        return f"it has {member.phase.lower()}"
    if member.view is LedgerState.UNKNOWN:
        return "it never reported" if member.age > timeouts.ready and not member.cordoned else None
    silent = member.runner and member.silent > timeouts.silence
    return f"its runner is silent for {member.silent}" if silent else None


def free(member: Member) -> bool:
    """Warm: nothing is on it."""
    return member.idle and member.ready and not member.terminating


def claimable(member: Member, revision: str) -> bool:
    """Whether a claim may have it."""
    return free(member) and member.stage is Phase.IDLE and member.revision == revision


def surplus(members: Iterable[Member], count: int, now: str) -> tuple[Member, ...]:
    """So many idle pods to remove: those made of something older first, then the youngest; fewer if fewer are idle."""
    idle = sorted((m for m in members if m.idle), key=lambda m: (m.fingerprint == now, m.age))
    return tuple(idle[: max(0, count)])
