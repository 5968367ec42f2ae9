"""Why a set of claims does what it does next: a word for programs, and a sentence for people."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from domain.claim_sets.decision import Do, SetStep, SetView
from domain.claim_sets.status import missing
from domain.claims.status import Reason

SHOWN: Final = 5


def why(seen: SetView, step: SetStep) -> Reason:
    if step.do is Do.CREATE:
        return _made(seen)
    if step.do in (Do.RECORD, Do.REMOVE):
        return _removed(seen, step)
    return _spared(seen) if step.do is Do.SPARE else _rests(seen)


def some(names: Collection[str]) -> str:
    told = sorted(names, key=lambda name: (len(name), name))
    return ", ".join(told[:SHOWN]) + (f" and {len(told) - SHOWN} more" if len(told) > SHOWN else "")


def _made(seen: SetView) -> Reason:
    if seen.surplus < 0:
        return Reason("ScaledOut", f"{len(seen.live)} of {seen.wanted} claims are there")
    message = f"{some([m.name for m in seen.old])} old: one more claim than wanted comes before the next of them goes"
    return Reason("Surge", message)


def _removed(seen: SetView, step: SetStep) -> Reason:
    going = [member for member in seen.live if member.name in step.names]
    if seen.surplus > 1 or not seen.old:
        return Reason("ScaledIn", f"{len(seen.live)} claims for {seen.wanted}")
    if not all(member.old for member in going):
        return Reason("SurgeRemoved", f"{some([m.name for m in seen.booting])} wait, and one of them is enough")
    serves = "it has no pod" if not any(member.has_pod for member in going) else "the others have a ready pod"
    return Reason("Replaced", f"it is old, and {serves}")


def _spared(seen: SetView) -> Reason:
    return Reason("Spared", f"it was about to be removed, and there are {len(seen.live)} claims for {seen.wanted}")


def _rests(seen: SetView) -> Reason:
    if waits := missing(seen):
        return Reason("Waiting", waits)
    there = len(seen.live)
    return Reason("Complete", f"{there} claims, each with a ready pod" if there else "no claims are wanted")
