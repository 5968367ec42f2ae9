"""The model of a pod that drains: that it holds, and that each rule is needed."""

from __future__ import annotations

import pytest

from tests.models.drain import CLAIMED, LIVE, Flags, check
from tests.unit.models.large import with_large


@pytest.mark.parametrize("flags", with_large([Flags(rounds=2), Flags()], [Flags(rounds=4, doubled=2)]))
def test_no_pod_that_is_in_use_becomes_idle_and_every_other_does(flags: Flags) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > 100


@pytest.mark.parametrize(
    ("flags", "broken"),
    [(Flags(ask=False), LIVE), (Flags(settle=False), LIVE), (Flags(rv=False), CLAIMED)],
    ids=["ask", "settle", "rv"],
)
def test_each_rule_is_needed(flags: Flags, broken: str) -> None:
    """Rules ask, settle, rv."""
    result = check(flags)
    assert result.broken == broken
    assert result.trace
