"""The model of ticks: that it holds, and that each rule is needed."""

from __future__ import annotations

import pytest

from tests.models.ticks import MANY, SKIPPED, TWICE, Flags, check
from tests.unit.models.large import with_large

CALM = Flags(faults=0)
BRIEF = Flags(faults=0, period=1)
"""A period that is shorter than a step."""


@pytest.mark.parametrize(
    "flags", with_large([CALM, BRIEF, Flags()], [Flags(steps=5, faults=3), BRIEF._replace(faults=3)])
)
def test_one_worker_works_however_long_it_takes(flags: Flags) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > (100 if flags.faults else 10)


@pytest.mark.parametrize(
    ("flags", "broken"),
    [
        (CALM._replace(keeps=False), MANY),
        (Flags(faults=1, owner=False), MANY),
        (CALM._replace(rests=False), TWICE),
        (CALM._replace(ends=False), SKIPPED),
    ],
    ids=["keeps", "owner", "rests", "ends"],
)
def test_each_rule_is_needed(flags: Flags, broken: str) -> None:
    """Rules tick-kept, tick-owner, tick-end."""
    result = check(flags)
    assert result.broken == broken
    assert result.trace
