"""What a claim does next: one step from what was read, conditional on the versions read (docs/protocols.md, 'Claims').

Every step is a write of one object. Whatever else changed it makes that conflict, and the claim is looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from domain.claims.claim import Claim, WhenLost
from domain.claims.pod import ClaimablePod, Phase

MISSING: Final = timedelta(seconds=10)
"""A pod that was just made may be missing from what was read."""


class Action(StrEnum):
    TAKE = "take"  # a free pod becomes its own, then it names that pod
    TAKE_TARGET = "take target"  # the free pod that it moves to becomes its own, then it is marked
    ADOPT = "adopt"  # writes a pod that has its label already, then names it
    MARK = "mark"  # writes the target, then records that the target is taken
    GIVE_BACK = "give back"  # the pod drains, without its label
    DISCARD = "discard"  # as that, and is never handed out again
    CLEAR = "clear"  # names no pod
    COMPLETE = "complete"  # has moved: names no source
    FINISH = "finish"  # lets the API server remove it
    REST = "rest"
    WAIT = "wait"  # looks again in a while, whatever happens


@dataclass(frozen=True)
class Step:
    """`pod`: name of the pod in question, '' if any free one will do or none is."""

    action: Action
    pod: str = ""


@dataclass(frozen=True)
class View:
    """The pods that carry the claim's label, those that it names, and for how long the named one is missing.

    Within `grace` a missing pod is not lost.
    """

    labelled: tuple[ClaimablePod, ...]
    named: Mapping[str, ClaimablePod]
    missing: timedelta = timedelta.max
    grace: timedelta = MISSING

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(pod.name for pod in self.labelled))


def next_step(claim: Claim, seen: View) -> Step:
    if claim.deleting:
        return _first(Action.GIVE_BACK, seen.names) or Step(Action.FINISH)
    if not claim.pod:
        return _first(Action.ADOPT, seen.names) or _look_for_one(claim)
    if claim.moves:
        return _move(claim, seen)
    return _keep(claim, seen)


def _look_for_one(claim: Claim) -> Step:
    lost_for_good = claim.served and claim.when_lost is WhenLost.STAY
    return Step(Action.REST) if lost_for_good else Step(Action.TAKE)


def _keep(claim: Claim, seen: View) -> Step:
    pod = seen.named.get(claim.pod)
    if pod is None:
        return Step(Action.WAIT if seen.missing < seen.grace else Action.CLEAR)
    if claim.pod not in seen.names:
        return Step(Action.CLEAR)  # never asserted: it may be another's by now
    if not pod.alive or pod.phase is not Phase.BOUND:
        return Step(Action.DISCARD, pod.name)
    return _first(Action.GIVE_BACK, [name for name in seen.names if name != claim.pod]) or Step(Action.REST)


def _move(claim: Claim, seen: View) -> Step:
    target, source = seen.named.get(claim.pod), seen.named.get(claim.source)
    if claim.pod in seen.names:
        if claim.source in seen.names:
            return Step(Action.GIVE_BACK, claim.source) if claim.marked else Step(Action.MARK, claim.pod)
        drains = source is not None and source.phase is Phase.DRAINING
        return Step(Action.REST) if drains else Step(Action.COMPLETE)
    if target is not None and target.free and target.normal and not target.cordoned:
        return Step(Action.TAKE_TARGET, claim.pod)
    return Step(Action.ADOPT, claim.source) if claim.source in seen.names else Step(Action.CLEAR)


def _first(action: Action, names: Iterable[str]) -> Step | None:
    return next((Step(action, name) for name in names), None)
