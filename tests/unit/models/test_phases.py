"""The model of jobs of two phases, with the real table of transitions: that it holds, and that each rule is needed."""

from __future__ import annotations

import pytest

from tests.models.phases import EXPIRED, LOST, NOT_APPLIED, NOT_CONFIRMED, NOT_ITS_SLOT, TWO_APPLIES, Flags, check
from tests.unit.models.large import with_large


@pytest.mark.parametrize(
    ("flags", "states"),
    with_large(
        [(Flags(), 9000), (Flags(faults=2), 60_000), (Flags(pods=1, faults=2), 70_000)],
        [(Flags(faults=3), 300_000), (Flags(pods=1, faults=3), 300_000), (Flags(pods=3, faults=2), 70_000)],
    ),
)
def test_only_what_a_person_confirmed_is_applied_alone_and_every_job_ends(flags: Flags, states: int) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > states


@pytest.mark.parametrize(
    ("flags", "broken"),
    [
        (Flags(attempt=False), NOT_ITS_SLOT),
        (Flags(attempt=False), EXPIRED),
        (Flags(plan=False), NOT_CONFIRMED),
        (Flags(clear=False), EXPIRED),
        (Flags(hold=False), NOT_ITS_SLOT),
        (Flags(hold=False), TWO_APPLIES),
        (Flags(wakes=False), "stuck"),
        (Flags(pods=1, wakes=False), "stuck"),
        (Flags(goeson=False), NOT_APPLIED),
        (Flags(rerun=False), LOST),
    ],
    ids=[
        *("attempt-slot", "attempt-deadline", "plan", "clear", "hold-slot", "hold-key", "wakes-key", "wakes-slot"),
        *("goeson", "rerun"),
    ],
)
def test_each_rule_is_needed(flags: Flags, broken: str) -> None:
    """Rules attempt, plan, clear, hold, wakes, goeson, rerun."""
    result = check(flags, broken)
    assert result.broken == broken
    assert result.trace
