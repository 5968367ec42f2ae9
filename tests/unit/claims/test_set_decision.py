"""The next step of a claim set, in a table."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from domain.claim_sets.decision import MOST, SetAction, SetStep, SetView, set_step
from domain.claim_sets.scale_in import SetMember
from domain.claim_sets.status import set_status
from domain.claims.claim import ClaimPhase
from tests.unit.claims.support import NOON


def serves(number: int, phase: ClaimPhase = ClaimPhase.BOUND, **rest: Any) -> SetMember:
    """A claim with a ready pod; the higher its number, the newer it is."""
    base: dict[str, Any] = {"has_pod": True, "scheduled": True, "pod_phase": "Running", "ready": True, "version": "7"}
    return SetMember(f"db-{number}", phase, NOON + timedelta(seconds=number), **(base | rest))


def waits(number: int, **rest: Any) -> SetMember:
    return serves(number, ClaimPhase.PENDING, has_pod=False, ready=False, scheduled=False, **rest)


def lost(number: int, **rest: Any) -> SetMember:
    return serves(number, ClaimPhase.LOST, has_pod=False, ready=False, scheduled=False, **rest)


def old(member: SetMember) -> SetMember:
    return replace(member, current=False)


def step(wanted: int, *members: SetMember, **rest: Any) -> SetStep:
    return set_step(SetView("db", wanted, members, **rest))


def said(action: SetAction, *numbers: int) -> SetStep:
    return SetStep(action, tuple(f"db-{number}" for number in numbers))


REST = SetStep(SetAction.REST)


def test_missing_claims_are_made_with_the_lowest_free_numbers() -> None:
    assert step(3) == said(SetAction.CREATE, 0, 1, 2)
    assert step(3, serves(1)) == said(SetAction.CREATE, 0, 2)
    assert step(2, serves(1), taken=frozenset({"db-0"})) == said(SetAction.CREATE, 2)
    assert len(step(5000).names) == MOST


@pytest.mark.row("WC-42")
def test_a_claim_that_is_being_deleted_counts_no_more_and_keeps_its_name() -> None:
    assert step(2, serves(0), serves(1, deleting=True)) == said(SetAction.CREATE, 2)
    assert step(1, serves(0), serves(1, deleting=True)) == REST


@pytest.mark.row("WC-29")
def test_what_moves_is_counted_and_never_removed() -> None:
    assert step(1, serves(0, moves=True), serves(1)) == said(SetAction.RECORD, 1)
    assert step(1, serves(0, moves=True), serves(1, moves=True)) == REST
    assert step(2, serves(0, moves=True), serves(1)) == REST


@pytest.mark.row("WC-35")
def test_surplus_claims_without_a_pod_go_first() -> None:
    assert step(1, serves(0), waits(1), waits(2)) == said(SetAction.RECORD, 1, 2)


def test_what_is_recorded_is_removed_only_as_it_was_recorded_and_only_if_it_is_still_too_many() -> None:
    assert step(1, serves(0), serves(1), recorded={"db-1": "7"}) == said(SetAction.REMOVE, 1)
    assert step(1, serves(0), serves(1), recorded={"db-1": "6"}) == said(SetAction.RECORD, 1)
    assert step(2, serves(0), serves(1), recorded={"db-1": "7"}) == said(SetAction.SPARE, 1)
    assert step(2, serves(0), serves(1), recorded={"db-1": "6"}) == REST
    assert step(1, serves(0), serves(1), serves(2), recorded={"db-2": "7"}) == said(SetAction.REMOVE, 2)


@pytest.mark.row("WC-31")
def test_a_claim_that_became_dear_after_it_was_recorded_is_spared() -> None:
    assert step(1, serves(0), serves(1, cost=5), recorded={"db-1": "7"}) == said(SetAction.SPARE, 1)
    assert step(1, serves(0), serves(1, cost=5), recorded={"db-1": "6"}) == said(SetAction.RECORD, 0)


@pytest.mark.row("WC-34")
@pytest.mark.parametrize("age", ["of an older template", "Outdated"])
def test_an_old_claim_goes_once_one_more_serves(age: str) -> None:
    before = [old(serves(n)) if age != "Outdated" else serves(n, ClaimPhase.OUTDATED) for n in (0, 1)]
    assert step(2, *before) == said(SetAction.CREATE, 2)
    assert step(2, *before, waits(2)) == REST
    assert step(2, *before, serves(2, ready=False)) == REST
    assert step(2, *before, serves(2, ClaimPhase.PENDING)) == REST
    assert step(2, *before, serves(2)) == said(SetAction.RECORD, 1)
    assert step(2, before[0], serves(2)) == said(SetAction.CREATE, 1)
    assert step(2, before[0], serves(1), serves(2)) == said(SetAction.RECORD, 0)
    assert step(2, serves(1), serves(2)) == REST


@pytest.mark.row("WC-32")
def test_a_claim_that_waits_for_the_ports_of_its_ready_pod_is_not_ready() -> None:
    for phase, ready in ((ClaimPhase.PENDING, 1), (ClaimPhase.OUTDATED, 2), (ClaimPhase.BOUND, 2)):
        status = set_status(SetView("db", 2, (serves(0), serves(1, phase))), {}, 1)
        assert status["readyReplicas"] == ready
        reasons = {condition["type"]: condition["reason"] for condition in status["conditions"]}
        assert reasons["Ready"] == ("Complete" if ready == 2 else "Waiting")


@pytest.mark.row("WC-34")
def test_no_second_one_is_replaced_while_a_successor_boots() -> None:
    assert step(2, old(serves(0)), waits(1)) == REST
    assert step(2, old(serves(0)), serves(1, ready=False)) == REST


@pytest.mark.row("WC-34", "WC-35")
def test_of_two_that_boot_while_there_are_old_ones_one_is_too_many() -> None:
    assert step(2, old(serves(0)), serves(1, ready=False), waits(2)) == said(SetAction.RECORD, 2)
    assert step(1, old(serves(0)), serves(1, ready=False)) == REST


@pytest.mark.row("WC-34")
def test_an_old_claim_without_a_pod_is_replaced_at_once() -> None:
    assert step(2, old(lost(0)), old(waits(1))) == said(SetAction.CREATE, 2)
    assert step(2, old(lost(0)), old(serves(1)), waits(2)) == said(SetAction.RECORD, 0)


@pytest.mark.row("WC-29", "WC-34")
def test_an_old_claim_that_moves_is_waited_for() -> None:
    moving = old(serves(0, moves=True))
    assert step(1, moving) == REST
    assert step(1, moving, serves(1)) == REST
    assert step(0, moving, serves(1)) == said(SetAction.RECORD, 1)


@pytest.mark.row("WC-30", "WC-34")
def test_scale_in_while_old_ones_are_replaced_follows_the_one_order() -> None:
    assert step(1, old(serves(0)), old(serves(1)), waits(2)) == said(SetAction.RECORD, 2)
    assert step(1, old(serves(0)), old(serves(1))) == said(SetAction.RECORD, 1)
    assert step(0, old(serves(0)), serves(1)) == said(SetAction.RECORD, 0)
    assert step(0, serves(1)) == said(SetAction.RECORD, 1)


def test_no_step_names_more_than_can_be_done_at_once() -> None:
    assert len(step(0, *(serves(n) for n in range(100))).names) == MOST


@pytest.mark.row("WC-34")
def test_scaling_in_by_one_in_a_rollout_takes_at_once_what_nobody_misses() -> None:
    """Otherwise the surplus claim counts as the surge: nothing tells the two apart."""
    olds = tuple(old(serves(n)) for n in range(3))
    assert step(2, *olds, waits(3)) == said(SetAction.RECORD, 3)
    assert step(2, *olds) == said(SetAction.RECORD, 2)
    assert step(2, *olds[:2], serves(3)) == said(SetAction.RECORD, 1)
    assert step(2, *olds[:2], waits(3)) == REST
    assert step(2, replace(olds[0], moves=True), serves(2), serves(3)) == REST
