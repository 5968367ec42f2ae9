"""The model of deadlines of pod pools under a TIME that is set: rule `clock` cuts nobody's time."""

from __future__ import annotations

import pytest

from tests.models.deadline_clock import CUT, LONGER, Flags, check


@pytest.mark.row("TM-03")
def test_nobodys_time_is_cut_however_time_is_set() -> None:
    result = check(Flags())
    assert result.broken is None, result.trace
    assert result.states > 1000


@pytest.mark.row("TM-03")
@pytest.mark.parametrize(("flags", "broken"), [(Flags(ahead=False), LONGER), (Flags(behind=False), CUT)])
def test_each_note_of_rule_clock_is_needed(flags: Flags, broken: str) -> None:
    """Rule clock."""
    assert check(flags).broken == broken
