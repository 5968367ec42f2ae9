"""Say why a claim set takes its next step: a word for programs, and a sentence for people."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, assert_never

from domain.claim_sets.decision import SetAction, SetStep, SetView
from domain.claim_sets.status import missing
from domain.claims.status import Reason

SHOWN: Final = 5


def why(observed: SetView, step: SetStep) -> Reason:
    """Return the reason of a step."""
    match step.action:
        case SetAction.CREATE:
            return _reason_to_create(observed)
        case SetAction.RECORD | SetAction.REMOVE:
            return _reason_to_remove(observed, step)
        case SetAction.SPARE:
            return _reason_to_spare(observed)
        case SetAction.REST:
            return _reason_to_rest(observed)
        case _:
            assert_never(step.action)


def some(names: Collection[str]) -> str:
    """List the first few names, and say how many more there are."""
    ordered = sorted(names, key=lambda name: (len(name), name))
    return ", ".join(ordered[:SHOWN]) + (f" and {len(ordered) - SHOWN} more" if len(ordered) > SHOWN else "")


def _reason_to_create(observed: SetView) -> Reason:
    if observed.surplus < 0:
        return Reason("ScaledOut", f"{len(observed.live)} of {observed.wanted} claims are there")
    old = some([member.name for member in observed.old])
    return Reason("Surge", f"{old} old: one more claim than wanted comes before the next of them goes")


def _reason_to_remove(observed: SetView, step: SetStep) -> Reason:
    going = [member for member in observed.live if member.name in step.names]
    if observed.surplus > 1 or not observed.old:
        return Reason("ScaledIn", f"{len(observed.live)} claims for {observed.wanted}")
    if not all(member.old for member in going):
        booting = some([member.name for member in observed.booting])
        return Reason("SurgeRemoved", f"{booting} wait, and one of them is enough")
    serves = "it has no pod" if not any(member.has_pod for member in going) else "the others have a ready pod"
    return Reason("Replaced", f"it is old, and {serves}")


def _reason_to_spare(observed: SetView) -> Reason:
    count = f"{len(observed.live)} claims for {observed.wanted}"
    return Reason("Spared", f"it was about to be removed, and there are {count}")


def _reason_to_rest(observed: SetView) -> Reason:
    if waits := missing(observed):
        return Reason("Waiting", waits)
    there = len(observed.live)
    return Reason("Complete", f"{there} claims, each with a ready pod" if there else "no claims are wanted")
