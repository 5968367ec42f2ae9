"""The model of the queue under a TIME that is set: rule `clock` bounds every wait, and nothing less does."""

from __future__ import annotations

import pytest

from tests.models.moving_clock import Flags, check

LONGER = "no wait is longer than its length"


@pytest.mark.row("TM-03")
def test_no_wait_is_longer_than_its_length_however_time_is_set() -> None:
    result = check(Flags())
    assert result.broken is None, result.trace
    assert result.states > 100


@pytest.mark.row("TM-03")
@pytest.mark.parametrize(
    "flags",
    [Flags(shifts=False), Flags(shifts=False, longest=True), Flags(notes=False)],
    ids=["shifts", "shifts, though the longest length bounds it", "notes"],
)
def test_each_part_of_rule_clock_is_needed(flags: Flags) -> None:
    """Rule clock."""
    assert check(flags).broken == LONGER
