"""The model of claims and moves, with the real decision: that it holds, and which of its answers are needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from domain.claims.claim import Claim
from domain.claims.decision import Action, ClaimView, Step, next_step
from domain.claims.pod import Phase
from tests.models.claims import Decide, check

TWO = {"count": 2, "faults": 2}
MOVING = {"count": 3, "faults": 1, "moves": (1, 1), "bound": True}
EXPIRING = {"count": 2, "faults": 1, "times": (2, 1)}
EXPIRING_FEW = {"count": 2, "faults": 0, "times": (1, 1)}
EXPIRING_MOVES = {"count": 3, "faults": 1, "moves": (1, 0), "bound": True, "times": (1, 1)}
FEW = {"count": 2, "faults": 1}
ONE_MOVES = {"count": 3, "faults": 1, "moves": (1, 0), "bound": True}
BOTH_MOVE = {"count": 3, "faults": 0, "moves": (1, 1), "bound": True}


@pytest.mark.parametrize(
    "world",
    [TWO, MOVING, EXPIRING, EXPIRING_MOVES],
    ids=["bind, lose, delete, make again", "move", "expire", "expire during a move"],
)
def test_no_pod_has_two_claims_and_every_claim_ends_with_a_pod(world: dict[str, object]) -> None:
    result = check(next_step, **world)  # type: ignore[arg-type]  # a table of arguments
    assert result.broken is None, result.trace
    assert result.states > 10_000


def instead(wrong: Callable[[Claim, ClaimView, Step], Step | None]) -> Decide:
    def decide(claim: Claim, seen: ClaimView) -> Step:
        step = next_step(claim, seen)
        return wrong(claim, seen, step) or step

    return decide


def asserts_its_label(claim: Claim, seen: ClaimView, step: Step) -> Step | None:
    pod = seen.named.get(claim.pod) if claim.pod else None
    lost_it = step.action is Action.CLEAR and not claim.moves and pod and not pod.claimed_by
    return Step(Action.TAKE, claim.pod) if lost_it else None


def keeps_what_it_does_not_name(claim: Claim, seen: ClaimView, step: Step) -> Step | None:
    extra = step.action is Action.GIVE_BACK and not claim.deleting and not claim.moves
    return Step(Action.REST) if extra else None


def leaves_its_label_on_a_lost_pod(claim: Claim, seen: ClaimView, step: Step) -> Step | None:
    return Step(Action.CLEAR) if step.action is Action.DISCARD else None


def drains_before_it_is_marked(claim: Claim, seen: ClaimView, step: Step) -> Step | None:
    return Step(Action.GIVE_BACK, claim.source) if step.action is Action.MARK else None


def waits_for_a_target_that_is_taken(claim: Claim, seen: ClaimView, step: Step) -> Step | None:
    return Step(Action.REST) if step.action is Action.ADOPT and claim.moves else None


def waits_for_the_source_to_be_idle(claim: Claim, seen: ClaimView, step: Step) -> Step | None:
    source = seen.named.get(claim.source) if claim.source else None
    waits = step.action is Action.COMPLETE and source and source.phase is not Phase.IDLE
    return Step(Action.REST) if waits else None


def ignores_that_it_is_deleted(claim: Claim, seen: ClaimView, step: Step) -> Step | None:
    return next_step(replace(claim, deleting=False), seen) if claim.deleting else None


def expires_before_it_records_a_renewal(claim: Claim, seen: ClaimView, step: Step) -> Step | None:
    return Step(Action.EXPIRE) if step.action is Action.RENEW and seen.expired else None


def never_expires(claim: Claim, seen: ClaimView, step: Step) -> Step | None:
    return next_step(claim, replace(seen, expired=False)) if step.action is Action.EXPIRE else None


@pytest.mark.row("CL-42")
def test_a_deletion_without_the_version_that_was_read_ends_a_renewed_claim() -> None:
    """Rule renewed."""
    assert check(next_step, **EXPIRING_FEW, conditional=False).broken == "renewed"  # type: ignore[arg-type]  # arguments


@pytest.mark.parametrize(
    ("wrong", "world", "broken"),
    [
        (asserts_its_label, FEW, "hot loop"),
        (keeps_what_it_does_not_name, FEW, "stuck"),
        (leaves_its_label_on_a_lost_pod, FEW, "hot loop"),
        (drains_before_it_is_marked, ONE_MOVES, "under"),
        (waits_for_a_target_that_is_taken, BOTH_MOVE, "stuck"),
        (waits_for_the_source_to_be_idle, BOTH_MOVE, "stuck"),
        (ignores_that_it_is_deleted, FEW, "stuck"),
        (expires_before_it_records_a_renewal, EXPIRING_FEW, "renewed"),
        (never_expires, EXPIRING_FEW, "stuck"),
    ],
)
def test_each_answer_is_needed(
    wrong: Callable[[Claim, ClaimView, Step], Step | None], world: dict[str, object], broken: str
) -> None:
    """Rules own, extra, lost, back, mark, mine, renewed."""
    assert check(instead(wrong), **world).broken == broken  # type: ignore[arg-type]  # a table of arguments
