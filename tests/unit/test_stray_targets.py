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
    assert check(Flags(direct=True)).broken == "taken"


def test_a_run_ends_only_the_wish_that_it_saw() -> None:
    assert check(Flags(seen_wish=False)).broken == "stuck"
