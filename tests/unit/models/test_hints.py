"""The model of hints that are sent again: that it holds, and that each part of its rule is needed."""

from __future__ import annotations

import pytest

from tests.models.hints import FLOOD, PILE, Flags, check
from tests.unit.models.large import with_large


@pytest.mark.parametrize("flags", with_large([Flags()], [Flags(faults=3)]))
def test_a_lost_hint_is_sent_again_and_one_in_a_backlog_is_not(flags: Flags) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > 5000


@pytest.mark.parametrize(
    ("flags", "broken"),
    [
        (Flags(older=False, faults=0), FLOOD),
        (Flags(same_queue=False, faults=0), FLOOD),
        (Flags(single=False, faults=0), PILE),
    ],
    ids=["older", "same queue", "single"],
)
def test_each_part_of_rule_lostsweep_is_needed(flags: Flags, broken: str) -> None:
    """Rule lostsweep."""
    result = check(flags)
    assert result.broken == broken
    assert result.trace
