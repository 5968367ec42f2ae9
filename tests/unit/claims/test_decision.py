"""The next step of a claim, in a table."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from domain.claims.claim import Claim, ClaimPhase, PodLossPolicy, phase_of
from domain.claims.decision import MISSING, Action, ClaimView, Step, next_step
from domain.claims.pod import Phase, PoolPod
from tests.unit.claims.support import bound, pod


def step(claim: Claim, *pods: PoolPod, missing: timedelta = timedelta.max, outdated: tuple[str, ...] = ()) -> Step:
    labelled = tuple(p for p in pods if p.claimed_by == claim.uid)
    return next_step(claim, ClaimView(labelled, {p.name: p for p in pods}, missing, outdated=frozenset(outdated)))


def claim(**rest: Any) -> Claim:
    return Claim("c1", **rest)


def test_one_without_a_pod_takes_a_free_one() -> None:
    assert step(claim(), pod("a")) == Step(Action.TAKE)


def test_one_that_has_its_label_on_a_pod_adopts_that_before_it_looks_for_another() -> None:
    """Rule touch: a crash came between label and name."""
    assert step(claim(), pod("a"), bound("b")) == Step(Action.ADOPT, "b")


def test_one_with_its_pod_rests() -> None:
    assert step(claim(pod="a"), bound("a")) == Step(Action.REST)


def test_a_pod_beyond_the_one_that_it_names_is_given_back() -> None:
    """Rule extra."""
    assert step(claim(pod="b"), bound("a"), bound("b")) == Step(Action.GIVE_BACK, "a")


@pytest.mark.parametrize("other", [bound("a", "c2"), pod("a"), pod("a", Phase.DRAINING)])
def test_a_name_without_its_label_is_cleared_and_never_asserted(other: PoolPod) -> None:
    """Rule own."""
    assert step(claim(pod="a", served=True), other) == Step(Action.CLEAR)


def test_a_pod_that_is_missing_for_a_moment_is_not_lost() -> None:
    assert step(claim(pod="a"), missing=MISSING - timedelta(seconds=1)) == Step(Action.WAIT)
    assert step(claim(pod="a"), missing=MISSING) == Step(Action.CLEAR)


def test_a_pod_of_no_use_is_given_away_for_good_before_its_name_is_cleared() -> None:
    """Rule lost."""
    assert step(claim(pod="a"), bound("a", alive=False)) == Step(Action.DISCARD, "a")


def test_an_outdated_pod_that_the_claim_was_never_bound_to_is_given_back_once_the_claim_names_it_no_more() -> None:
    """Rule givesway."""
    assert step(claim(pod="a"), bound("a"), outdated=("a",)) == Step(Action.CLEAR)
    assert step(claim(), bound("a"), outdated=("a",)) == Step(Action.GIVE_BACK, "a")
    assert step(claim(), bound("a"), bound("b"), outdated=("b",)) == Step(Action.GIVE_BACK, "b")
    assert step(claim(pod="a"), bound("a", alive=False), outdated=("a",)) == Step(Action.DISCARD, "a")


def test_whoever_lost_its_pod_looks_for_another_or_stays_as_it_says() -> None:
    assert step(claim(served=True), pod("a")) == Step(Action.TAKE)
    assert step(claim(served=True, when_lost=PodLossPolicy.STAY), pod("a")) == Step(Action.REST)
    assert step(claim(when_lost=PodLossPolicy.STAY), pod("a")) == Step(Action.TAKE)


def test_one_that_is_deleted_gives_back_its_own_pods_only_and_ends() -> None:
    gone = claim(pod="a", deleting=True)
    assert step(gone, bound("a"), bound("b", "c2")) == Step(Action.GIVE_BACK, "a")
    assert step(gone, bound("a", "c2"), bound("b", "c2")) == Step(Action.FINISH)
    assert step(gone) == Step(Action.FINISH)
    assert step(claim(pod="b", source="a", deleting=True), bound("a"), bound("b")) == Step(Action.GIVE_BACK, "a")


MOVES = claim(pod="b", source="a")


@pytest.mark.parametrize(
    ("pods", "marked", "expected"),
    [
        ((bound("a"), pod("b")), False, Step(Action.TAKE_TARGET, "b")),
        ((bound("a"), bound("b")), False, Step(Action.MARK, "b")),
        ((bound("a"), bound("b")), True, Step(Action.GIVE_BACK, "a")),
        ((pod("a", Phase.DRAINING), bound("b")), True, Step(Action.REST)),
        ((pod("a"), bound("b")), True, Step(Action.COMPLETE, "b")),
        ((pod("a", Phase.TERMINATING), bound("b")), True, Step(Action.COMPLETE, "b")),
        ((bound("b"),), True, Step(Action.COMPLETE, "b")),
        ((bound("a", "c2"), bound("b")), True, Step(Action.COMPLETE, "b")),
        ((bound("a"), bound("b", "c2")), False, Step(Action.ADOPT, "a")),
        ((bound("a"), pod("b", Phase.DRAINING)), False, Step(Action.ADOPT, "a")),
        ((bound("a"), pod("b", normal=False)), False, Step(Action.ADOPT, "a")),
        ((bound("a"), pod("b", cordoned=True)), False, Step(Action.ADOPT, "a")),
        ((bound("a"),), False, Step(Action.ADOPT, "a")),
        ((bound("b", "c2"),), False, Step(Action.CLEAR)),
    ],
)
def test_a_move_goes_on_from_whatever_is_there(pods: tuple[PoolPod, ...], marked: bool, expected: Step) -> None:
    moving = claim(pod=MOVES.pod, source=MOVES.source, marked=marked)
    assert step(moving, *pods) == expected


def test_a_claim_is_called_what_its_pod_is() -> None:
    assert phase_of(claim(), None, "r1") is ClaimPhase.PENDING
    assert phase_of(claim(served=True), None, "r1") is ClaimPhase.LOST
    assert phase_of(claim(pod="a"), bound("a"), "r1") is ClaimPhase.BOUND
    assert phase_of(claim(pod="a"), bound("a"), "r2") is ClaimPhase.OUTDATED
    assert phase_of(claim(pod="a"), bound("a"), "") is ClaimPhase.BOUND
    assert phase_of(claim(pod="a", served=True), bound("a", "c2"), "r1") is ClaimPhase.LOST
