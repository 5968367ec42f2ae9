"""The model of scale-down beside a claim: that it holds, and that each rule is needed."""

from __future__ import annotations

import pytest

from tests.models.scale_down import FLOOR, MISPLACED, TAKEN, Flags, check
from tests.unit.models.large import with_large

ONE = Flags(removals=1)


@pytest.mark.parametrize("flags", with_large([ONE, Flags(faults=0)], [Flags(), Flags(removals=1, faults=2)]))
def test_no_pod_that_is_in_use_goes_and_none_stays_closed(flags: Flags) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > 10_000


@pytest.mark.parametrize(
    ("flags", "broken"),
    [
        (ONE._replace(take=False), TAKEN),
        (ONE._replace(order=False), MISPLACED),
        (ONE._replace(rv=False), MISPLACED),
        (ONE._replace(bump=False), TAKEN),
        (ONE._replace(lift=False), "stuck"),
        (Flags(floor=False), FLOOR),
        (ONE._replace(register=False), MISPLACED),
    ],
    ids=["take", "order", "rv", "bump", "lift", "floor", "register"],
)
def test_each_rule_is_needed(flags: Flags, broken: str) -> None:
    """Rules take, order, rv, bump, lift, floor, register."""
    result = check(flags)
    assert result.broken == broken
    assert result.trace
