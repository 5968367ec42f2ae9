"""Decide what a claim does next (docs/protocols.md, 'Claims').

Every step writes one object in the version that was read. When somebody else has changed the object, the write
conflicts, and the claim is observed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from domain.claims.claim import Claim, PodLossPolicy
from domain.claims.pod import ClaimablePod, Phase

MISSING: Final = timedelta(seconds=10)
"""A pod that was just created may still be missing from an observation."""


class Action(StrEnum):
    """What a step of a claim does."""

    TAKE = "take"  # bind a free pod, then name it in the claim
    TAKE_TARGET = "take target"  # bind the free pod that the claim moves to
    ADOPT = "adopt"  # write a pod that has the claim's label already, then name it in the claim
    MARK = "mark"  # write the target of a move, then record that the claim has it
    GIVE_BACK = "give back"  # remove the claim's label: the pod drains
    DISCARD = "discard"  # as GIVE_BACK, and no claim gets the pod again
    CLEAR = "clear"  # name no pod in the claim
    COMPLETE = "complete"  # the move is over: name no source in the claim
    FINISH = "finish"  # remove the finalizer: the API server removes the claim
    REST = "rest"  # nothing is left to do
    WAIT = "wait"  # observe again after a time


@dataclass(frozen=True)
class Step:
    """An action and the name of its pod, '' where the action has none or takes any free pod."""

    action: Action
    pod: str = ""


@dataclass(frozen=True)
class ClaimView:
    """The part of an observation that decides.

    Attributes:
        labelled: the pods that carry the claim's label.
        named: the pods that the claim names, by name, as far as they exist.
        missing: for how long the claim's pod has been missing.
        grace: a pod that is missing for less than this is not lost.

    """

    labelled: tuple[ClaimablePod, ...]
    named: Mapping[str, ClaimablePod]
    missing: timedelta = timedelta.max
    grace: timedelta = MISSING

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the pods that carry the claim's label, sorted."""
        return tuple(sorted(pod.name for pod in self.labelled))


def next_step(claim: Claim, observed: ClaimView) -> Step:
    """Return the one step that the claim takes next."""
    if claim.deleting:
        return _first(Action.GIVE_BACK, observed.names) or Step(Action.FINISH)
    if not claim.pod:
        return _first(Action.ADOPT, observed.names) or _pod_wanted(claim)
    if claim.moves:
        return _move(claim, observed)
    return _keep(claim, observed)


def _pod_wanted(claim: Claim) -> Step:
    lost_for_good = claim.served and claim.when_lost is PodLossPolicy.STAY
    return Step(Action.REST) if lost_for_good else Step(Action.TAKE)


def _keep(claim: Claim, observed: ClaimView) -> Step:
    pod = observed.named.get(claim.pod)
    if pod is None:
        return Step(Action.WAIT if observed.missing < observed.grace else Action.CLEAR)
    if claim.pod not in observed.names:
        return Step(Action.CLEAR)  # the label is never written again: another claim may have the pod by now
    if not pod.alive or pod.phase is not Phase.BOUND:
        return Step(Action.DISCARD, pod.name)
    return _first(Action.GIVE_BACK, [name for name in observed.names if name != claim.pod]) or Step(Action.REST)


def _move(claim: Claim, observed: ClaimView) -> Step:
    target, source = observed.named.get(claim.pod), observed.named.get(claim.source)
    if claim.pod in observed.names:
        if claim.source in observed.names:
            return Step(Action.GIVE_BACK, claim.source) if claim.marked else Step(Action.MARK, claim.pod)
        drains = source is not None and source.phase is Phase.DRAINING
        return Step(Action.REST) if drains else Step(Action.COMPLETE)
    if target is not None and target.free and target.normal and not target.cordoned:
        return Step(Action.TAKE_TARGET, claim.pod)
    return Step(Action.ADOPT, claim.source) if claim.source in observed.names else Step(Action.CLEAR)


def _first(action: Action, names: Iterable[str]) -> Step | None:
    return next((Step(action, name) for name in names), None)
