"""Which claim of a set goes first."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from domain.claim_sets.scale_in import SetMember, first_to_go
from domain.claims.claim import ClaimPhase
from tests.unit.claims.support import NOON


def member(name: str, phase: ClaimPhase = ClaimPhase.BOUND, **rest: Any) -> SetMember:
    base: dict[str, Any] = {"has_pod": True, "scheduled": True, "pod_phase": "Running", "ready": True}
    base |= {"created": NOON, "version": "7"}
    return SetMember(name, phase, **(base | rest))


@pytest.mark.row("WC-30")
@pytest.mark.parametrize(
    ("first", "second"),
    list(
        pairwise(
            [
                member("no pod", has_pod=False),
                member("pending", ClaimPhase.PENDING),
                member("lost", ClaimPhase.LOST),
                member("outdated", ClaimPhase.OUTDATED),
                member("unscheduled", scheduled=False),
                member("pod pending", pod_phase="Pending"),
                member("pod failed", pod_phase="Failed"),
                member("not ready", ready=False),
                member("cheap", cost=-5),
                member("newer", created=NOON + timedelta(milliseconds=1)),
                member("older"),
                member("dear", cost=7),
            ]
        )
    ),
    ids=lambda m: m.name,
)
def test_each_goes_before_the_next(first: SetMember, second: SetMember) -> None:
    assert first_to_go([second, first]) == (first, second)


@pytest.mark.row("WC-30")
def test_one_that_moves_or_goes_already_is_never_chosen() -> None:
    assert first_to_go([member("a", moves=True), member("b", deleting=True)]) == ()
    assert [m.name for m in first_to_go([member("a", moves=True, ready=False), member("b")])] == ["b"]


@pytest.mark.row("WC-30")
def test_a_claim_of_an_older_template_goes_as_an_outdated_one_does() -> None:
    older, outdated = member("c", current=False), member("b", ClaimPhase.OUTDATED)
    assert first_to_go([member("a"), outdated, older]) == (older, outdated, member("a"))


@pytest.mark.row("WC-30")
def test_of_two_made_in_one_second_the_higher_number_goes_first() -> None:
    assert [m.name for m in first_to_go([member("a-9"), member("a-10"), member("a-1")])] == ["a-10", "a-9", "a-1"]
