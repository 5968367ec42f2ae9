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
from domain.claims.pod import Phase, PoolPod

MISSING: Final = timedelta(seconds=10)
"""A pod that was just created may still be missing from an observation."""


class Action(StrEnum):
    """What a step of a claim does."""

    TAKE = "take"  # bind a free pod, then name the pod in the claim
    TAKE_TARGET = "take target"  # bind the free pod that the claim moves to
    ADOPT = "adopt"  # write a pod that has the claim's label already, then name the pod in the claim
    MARK = "mark"  # write the target of a move, then record that the claim has it
    GIVE_BACK = "give back"  # remove the claim's labels: the pod drains
    DISCARD = "discard"  # as GIVE_BACK, but the pod terminates: no claim gets it again
    CLEAR = "clear"  # name no pod in the claim
    COMPLETE = "complete"  # end the move: name no source in the claim
    RENEW = "renew"  # record when the claim was renewed
    EXPIRE = "expire"  # delete the claim
    FINISH = "finish"  # remove the finalizer: the API server removes the claim
    REST = "rest"  # nothing is left to do
    WAIT = "wait"  # observe again after a time


@dataclass(frozen=True)
class Step:
    """An action and the name of its pod, None where the action has none or takes any free pod."""

    action: Action
    pod: str | None = None

    @property
    def target(self) -> str:
        """Name of the pod that the action is about. ValueError for an action without a pod."""
        if self.pod is None:
            raise ValueError(f"the action {self.action} has no pod")
        return self.pod


@dataclass(frozen=True)
class ClaimView:
    """The part of an observation that decides.

    Attributes:
        labelled: the pods that carry the claim's label.
        named: the existing pods that the claim names, by name.
        missing: for how long the claim's pod has been missing.
        grace: a pod that has been missing for less than this is not lost.
        renewed: the claim was renewed, and nobody has recorded that yet.
        expired: the time of the claim has passed.
        outdated: labelled pods that the claim gives up because it was never Bound to them (rule givesway).

    """

    labelled: tuple[PoolPod, ...]
    named: Mapping[str, PoolPod]
    missing: timedelta = timedelta.max
    grace: timedelta = MISSING
    renewed: bool = False
    expired: bool = False
    outdated: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the pods that carry the claim's label, sorted."""
        return tuple(sorted(pod.name for pod in self.labelled))


def next_step(claim: Claim, observed: ClaimView) -> Step:
    """Return the one step that the claim takes next."""
    if claim.deleting:
        return _first(Action.GIVE_BACK, observed.names) or Step(Action.FINISH)
    if observed.renewed or observed.expired:
        return Step(Action.RENEW if observed.renewed else Action.EXPIRE)
    if claim.pod is None:
        given_up = _first(Action.GIVE_BACK, sorted(observed.outdated))
        return given_up or _first(Action.ADOPT, observed.names) or _pod_wanted(claim)
    if claim.source is not None:
        return _move(claim.pod, claim.source, observed, marked=claim.marked)
    return _keep(claim.pod, observed)


def _pod_wanted(claim: Claim) -> Step:
    lost_for_good = claim.served and claim.when_lost is PodLossPolicy.STAY
    return Step(Action.REST) if lost_for_good else Step(Action.TAKE)


def _keep(name: str, observed: ClaimView) -> Step:
    pod = observed.named.get(name)
    if pod is None:
        return Step(Action.WAIT if observed.missing < observed.grace else Action.CLEAR)
    if name not in observed.names:
        return Step(Action.CLEAR)  # the label is never written again: another claim may have the pod by now
    if not pod.alive or pod.phase is not Phase.BOUND:
        return Step(Action.DISCARD, name)
    if name in observed.outdated:
        return Step(Action.CLEAR)  # before the pod is given back: a late status that shows it Bound conflicts
    return _first(Action.GIVE_BACK, [other for other in observed.names if other != name]) or Step(Action.REST)


def _move(name: str, source_name: str, observed: ClaimView, *, marked: bool) -> Step:
    target, source = observed.named.get(name), observed.named.get(source_name)
    if name in observed.names:
        if source_name in observed.names:
            return Step(Action.GIVE_BACK, source_name) if marked else Step(Action.MARK, name)
        drains = source is not None and source.phase is Phase.DRAINING
        return Step(Action.REST) if drains else Step(Action.COMPLETE, name)
    if target is not None and target.free and target.normal and not target.cordoned:
        return Step(Action.TAKE_TARGET, name)
    return Step(Action.ADOPT, source_name) if source_name in observed.names else Step(Action.CLEAR)


def _first(action: Action, names: Iterable[str]) -> Step | None:
    return next((Step(action, name) for name in names), None)
