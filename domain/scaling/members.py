"""What each pod of a pool needs now: opened, set aside, replaced or removed. Pure; one pod, one answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


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


@dataclass(frozen=True)
class Member:
    """`silent`: since its runner's last report; `closed`: since it was fenced. Ages in the clocks of their servers."""

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
    token: str = ""
    secret: str = ""  # name of the runner token that it has, '' for none

    @property
    def gives_slots(self) -> bool:
        return not self.terminating and self.view not in (View.FENCED, View.CLAIMED, View.ENDING)

    @property
    def made_of(self) -> str:
        return made_of(self.revision, self.secret)

    @property
    def idle(self) -> bool:
        """Nothing is on it, and it may be fenced."""
        return self.view is View.OPEN and not self.busy


@dataclass(frozen=True)
class Patience:
    """How long a pod may take to report first, and to stay silent."""

    ready: timedelta
    silence: timedelta = timedelta(minutes=2)


def made_of(revision: str, secret: str) -> str:
    """What a pod is made of: pods that are made of something else are replaced."""
    return f"{revision} {secret}".strip()


def care(member: Member, now: str, patience: Patience) -> Care:
    """`now`: what pods are made of at present."""
    if member.terminating:
        return Care.NOTHING if member.view in (View.UNKNOWN, View.ENDING) else Care.END
    if member.view is View.ENDING or useless(member, patience):
        return Care.REMOVE
    if member.view is View.FENCED:
        return Care.LIFT
    if member.view is View.OPEN and not member.ready:
        return Care.SET_ASIDE
    if member.view in (View.NEW, View.AWAY) and member.ready:
        return Care.OPEN
    return Care.REPLACE if member.idle and member.made_of != now else Care.NOTHING


def useless(member: Member, patience: Patience) -> str:
    """Why a pod is of no use any more, '' for one that is."""
    if member.phase in ("Failed", "Succeeded"):
        return f"it has {member.phase.lower()}"
    if member.view is View.UNKNOWN:
        return "it never reported" if member.age > patience.ready else ""
    return f"its runner is silent for {member.silent}" if member.silent > patience.silence else ""


def surplus(members: Iterable[Member], count: int, now: str) -> tuple[Member, ...]:
    """So many idle pods to remove: those made of something older first, then the youngest; fewer if fewer are idle."""
    idle = sorted((m for m in members if m.idle), key=lambda m: (m.made_of == now, m.age))
    return tuple(idle[: max(0, count)])
