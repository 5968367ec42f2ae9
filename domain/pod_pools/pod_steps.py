"""What each pod of a pool needs now: opened, set aside, replaced or removed. Pure; one pod, one answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from domain.claims.pod import USED, Phase


class View(StrEnum):
    """What the slot ledger thinks of a pod; UNKNOWN: it has never reported."""

    UNKNOWN = ""
    NEW = "new"
    OPEN = "open"
    AWAY = "away"
    FENCED = "fenced"
    CLAIMED = "claimed"
    ENDING = "ending"


class Care(StrEnum):
    NOTHING = "nothing"
    OPEN = "open"
    SET_ASIDE = "set aside"  # no new jobs until it is ready again
    END = "end"  # it goes: no new jobs ever
    REMOVE = "remove"  # it is of no use any more, whatever runs on it
    REPLACE = "replace"  # of an older template or token, and idle
    LIFT = "lift"  # closed by a holder that has gone silent
    HOLD = "hold"  # Kubernetes says that somebody has it whole
    REGISTER = "register"  # nobody else reports for it


class Place(StrEnum):
    """What a pod is counted as."""

    OPEN = "open"
    BOOTING = "booting"
    AWAY = "away"
    CORDONED = "cordoned"
    CLAIMED = "claimed"
    DRAINING = "draining"


PLACES = {View.UNKNOWN: Place.BOOTING, View.NEW: Place.BOOTING, View.AWAY: Place.AWAY, View.OPEN: Place.OPEN}
PLACES |= {View.CLAIMED: Place.CLAIMED, View.FENCED: Place.DRAINING, View.ENDING: Place.DRAINING}


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
    view: View = View.UNKNOWN
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
    def place(self) -> Place:
        if self.terminating:
            return Place.DRAINING
        if self.held:
            return Place.CLAIMED if self.claimed_by or self.stage is Phase.BOUND else Place.DRAINING
        place = PLACES[self.view]
        return Place.CORDONED if self.cordoned and place in (Place.OPEN, Place.BOOTING, Place.AWAY) else place

    @property
    def gives_slots(self) -> bool:
        return self.place in (Place.OPEN, Place.BOOTING, Place.AWAY)

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
    def made_of(self) -> str:
        return made_of(self.revision, self.secret)

    @property
    def idle(self) -> bool:
        """Nothing is on it, and it may be fenced."""
        return self.view is View.OPEN and not self.busy and not self.held


@dataclass(frozen=True)
class Patience:
    """How long a pod may take to report first, and to stay silent."""

    ready: timedelta
    silence: timedelta = timedelta(minutes=2)
    take: timedelta = timedelta(seconds=30)  # from the ledger to the label


def made_of(revision: str, secret: str) -> str:
    """What a pod is made of: pods that are made of something else are replaced."""
    return f"{revision} {secret}".strip()


def care(member: Member, now: str, patience: Patience) -> Care:
    """`now`: what pods are made of at present."""
    if member.terminating:
        return Care.NOTHING if member.view in (View.UNKNOWN, View.ENDING) else Care.END
    if member.held:
        return _held(member, patience)
    if member.view is View.ENDING or useless(member, patience):
        return Care.REMOVE
    if member.view is View.FENCED or (member.view is View.CLAIMED and member.closed > patience.take):
        return Care.LIFT
    if member.view is View.UNKNOWN:
        return Care.REGISTER if member.ready and not member.runner else Care.NOTHING
    return _placing(member, now)


def _placing(member: Member, now: str) -> Care:
    """A pod that was opened before claims were known has no phase yet."""
    if member.view is View.OPEN and not member.ready:
        return Care.SET_ASIDE
    unopened = member.view in (View.NEW, View.AWAY) or (member.view is View.OPEN and member.stage is Phase.UNKNOWN)
    if unopened and member.ready:
        return Care.OPEN
    return Care.REPLACE if member.idle and member.made_of != now else Care.NOTHING


def _held(member: Member, patience: Patience) -> Care:
    """A claim took it when nothing ran on it. What runs all the same ends first; a runner's silence is no reason."""
    if member.busy:
        return Care.SET_ASIDE if member.view is View.OPEN else Care.NOTHING
    if member.stage is Phase.TERMINATING and not member.claimed_by:
        return Care.REMOVE
    if member.view is View.UNKNOWN:
        return Care.NOTHING if member.runner and member.age <= patience.ready else Care.REGISTER
    known = member.view is View.CLAIMED and member.claimed_by in ("", member.token)
    return Care.NOTHING if known else Care.HOLD


def useless(member: Member, patience: Patience) -> str | None:
    """Why a pod is of no use any more, None for one that is."""
    if member.phase in ("Failed", "Succeeded"):
        return f"it has {member.phase.lower()}"
    if member.view is View.UNKNOWN:
        return "it never reported" if member.age > patience.ready and not member.cordoned else None
    silent = member.runner and member.silent > patience.silence
    return f"its runner is silent for {member.silent}" if silent else None


def free(member: Member) -> bool:
    """Warm: nothing is on it."""
    return member.idle and member.ready and not member.terminating


def claimable(member: Member, revision: str) -> bool:
    """Whether a claim may have it."""
    return free(member) and member.stage is Phase.IDLE and member.revision == revision


def surplus(members: Iterable[Member], count: int, now: str) -> tuple[Member, ...]:
    """So many idle pods to remove: those made of something older first, then the youngest; fewer if fewer are idle."""
    idle = sorted((m for m in members if m.idle), key=lambda m: (m.made_of == now, m.age))
    return tuple(idle[: max(0, count)])
