"""The model of who ends a target that nobody recorded: what it allows, and which of its rules are needed."""

from __future__ import annotations

import pytest

from tests.models.stray_targets import Flags, check


@pytest.mark.row("BD-17", "BD-21")
@pytest.mark.parametrize("flags", [Flags(), Flags(moves=1, faults=2)], ids=["moves", "faults"])
def test_whatever_is_left_behind_ends_and_no_run_loses_what_it_registered(flags: Flags) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > 1_000


def test_without_the_audit_what_a_dead_caller_left_stays() -> None:
    assert check(Flags(audit=False)).broken == "stuck"


def test_an_audit_that_deregisters_itself_takes_what_a_run_has_registered_and_not_recorded_yet() -> None:
    """Rule audittargets."""
    assert check(Flags(direct=True)).broken == "taken"


def test_a_run_ends_only_the_wish_that_it_saw() -> None:
    """Rule requestnumber."""
    assert check(Flags(seen_wish=False)).broken == "stuck"


@pytest.mark.row("BD-41")
@pytest.mark.parametrize("flags", [Flags(faults=0, pauses=2, audit=False), Flags(moves=3, faults=0, pauses=1)])
def test_a_run_that_is_refused_after_its_calls_leaves_nothing_when_it_wishes_a_comparison(flags: Flags) -> None:
    result = check(flags)
    assert result.broken is None, result.trace


@pytest.mark.row("BD-41")
def test_a_run_that_is_refused_and_says_nothing_leaves_an_address_that_the_pod_has_left() -> None:
    """Rule askcomparison."""
    assert check(Flags(faults=0, pauses=1, audit=False, tells=False)).broken == "stuck"
