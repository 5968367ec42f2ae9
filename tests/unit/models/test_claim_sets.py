"""The model of claim sets, with the real decision: that it holds, and which of its answers are needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from domain.claim_sets.decision import SetAction, SetStep, SetView, set_step
from domain.claim_sets.scale_in import first_to_go
from tests.models.claim_sets import Decide, S, check, world

SCALED = world(3, faults=2, wants=(1, 2))
MOVING = world(3, faults=1, wants=(2, 3), moves=1)
ROLLED = world(2, faults=1, templates=1, moves=1)
ROLLED_AND_SCALED = world(2, faults=0, templates=1, wants=(1, 2))
ONE_TOO_MANY = world(3, wanted=2, floor=2, faults=2, moves=1)
MEDDLED = world(2, faults=1, wants=(1,), hands=1)


@pytest.mark.row("WC-29", "WC-33", "WC-34")
@pytest.mark.parametrize(
    "first",
    [SCALED, MOVING, ONE_TOO_MANY, ROLLED, ROLLED_AND_SCALED, MEDDLED],
    ids=["scaled", "moving", "one too many", "rolled", "rolled and scaled", "meddled with"],
)
def test_a_set_removes_none_too_many_none_that_moves_and_ends_as_wanted(first: S) -> None:
    result = check(set_step, first)
    assert result.broken is None, result.trace
    assert result.states > 500


@pytest.mark.row("WC-33")
@pytest.mark.parametrize("first", [MOVING, ONE_TOO_MANY, ROLLED], ids=["moving", "one too many", "rolled"])
def test_a_list_of_claims_that_lags_does_no_harm(first: S) -> None:
    result = check(set_step, first, lists_first=True)
    assert result.broken is None, result.trace


@pytest.mark.parametrize(
    ("rules", "first", "broken"),
    [
        ({"versions": False}, MOVING, "moving"),
        ({"versions": False}, SCALED, "fewer"),
        ({"record": False}, ONE_TOO_MANY, "fewer"),
        ({"compares": False}, ONE_TOO_MANY, "fewer"),
    ],
    ids=["pre: none that moves", "pre: none too many", "intent", "intent: by compare-and-set"],
)
def test_each_rule_is_needed(rules: dict[str, bool], first: S, broken: str) -> None:
    """Rules intent, pre."""
    assert check(set_step, first, **rules).broken == broken


def instead(wrong: Callable[[SetView, SetStep], SetStep | None]) -> Decide:
    def decide(seen: SetView) -> SetStep:
        step = set_step(seen)
        return wrong(seen, step) or step

    return decide


def spares_nobody(seen: SetView, step: SetStep) -> SetStep | None:
    return set_step(replace(seen, recorded={})) if step.action is SetAction.SPARE else None


def takes_movers_for_settled(seen: SetView, step: SetStep) -> SetStep | None:
    return set_step(replace(seen, members=tuple(replace(m, moves=False) for m in seen.members)))


def takes_the_new_one_for_surplus(seen: SetView, step: SetStep) -> SetStep | None:
    chosen = first_to_go(seen.live)
    holds = step.action is SetAction.REST and seen.surplus == 1 and chosen and not seen.recorded
    return SetStep(SetAction.RECORD, (chosen[0].name,)) if holds else None


def makes_another_while_one_boots(seen: SetView, step: SetStep) -> SetStep | None:
    holds = step.action is SetAction.REST and seen.surplus == 1 and seen.old
    return set_step(replace(seen, wanted=seen.wanted + 2)) if holds else None


def replaces_none(seen: SetView, step: SetStep) -> SetStep | None:
    return SetStep(SetAction.REST) if step.action is SetAction.CREATE and not seen.surplus else None


@pytest.mark.parametrize(
    ("wrong", "first", "broken"),
    [
        (spares_nobody, SCALED, "fewer"),
        (takes_movers_for_settled, MOVING, "moving"),
        (takes_the_new_one_for_surplus, ROLLED, "hot loop"),
        (makes_another_while_one_boots, ROLLED, "surge"),
        (replaces_none, ROLLED, "stuck"),
    ],
)
def test_each_answer_is_needed(wrong: Callable[[SetView, SetStep], SetStep | None], first: S, broken: str) -> None:
    assert check(instead(wrong), first).broken == broken
