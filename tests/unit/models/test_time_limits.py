"""The model of time limits, with the real table of transitions: that it holds, and that each rule is needed."""

from __future__ import annotations

import pytest

from tests.models.time_limits import HAS_STARTED, IN_TIME, NOT_ITS_SLOT, OTHER_REASON, Flags, check
from tests.unit.models.large import with_large


@pytest.mark.row("SD-34")
@pytest.mark.parametrize(
    ("flags", "states"), with_large([(Flags(), 3000), (Flags(faults=2), 25_000)], [(Flags(faults=3), 150_000)])
)
def test_a_job_that_hangs_ends_and_its_end_says_why(flags: Flags, states: int) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > states


@pytest.mark.parametrize(
    ("flags", "broken"),
    [
        (Flags(limits=False), "stuck"),
        (Flags(runlimit=False), NOT_ITS_SLOT),
        (Flags(queuelimit=False), HAS_STARTED),
        (Flags(ownlimit=False), IN_TIME),
        (Flags(firstreason=False), OTHER_REASON),
        (Flags(limitgate=False), HAS_STARTED),
        (Flags(limitkept=False), "stuck"),
    ],
    ids=["none", "runlimit", "queuelimit", "ownlimit", "firstreason", "limitgate", "limitkept"],
)
def test_each_rule_is_needed(flags: Flags, broken: str) -> None:
    """Rules runlimit, queuelimit, ownlimit, firstreason, limitgate and limitkept."""
    result = check(flags)
    assert result.broken == broken
    assert result.trace
