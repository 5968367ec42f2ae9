"""The model of the queue of keys: that it holds, and that each rule is needed."""

from __future__ import annotations

import pytest

from tests.models.workqueue import FLOOD, LATE, MISTAKEN, OVERLAP, Flags, check
from tests.unit.models.large import with_large

QUIET = Flags(events=1, faults=1, waits=0)


@pytest.mark.parametrize(
    "flags",
    with_large(
        [Flags(), Flags(events=1, faults=2), Flags(copy=True)],
        [Flags(events=3, faults=2), Flags(events=2, faults=3), Flags(waits=0, faults=2, copy=True)],
    ),
)
def test_the_last_version_is_run_whatever_is_lost_doubled_late_or_dead(flags: Flags) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > 1000


@pytest.mark.parametrize(
    ("flags", "broken"),
    [
        (Flags(generation=False, waits=0, faults=0), "stuck"),
        (Flags(atomic=False, waits=0, faults=0), "stuck"),
        (QUIET._replace(lease=False), "stuck"),
        (QUIET._replace(holder=False, events=2), OVERLAP),
        (QUIET._replace(forget=False), FLOOD),
        (Flags(timer=False, faults=0), LATE),
        (QUIET._replace(promote=False, waits=1), "stuck"),
        (QUIET._replace(unknown=False), MISTAKEN),
        (QUIET._replace(noticed=False), "stuck"),
    ],
    ids=["generation", "read apart", "lease", "holder", "forget", "timer", "two scripts", "unknown", "not noticed"],
)
def test_each_rule_is_needed(flags: Flags, broken: str) -> None:
    """Rules generation, lease, holder, forget, timer, unknown, probe."""
    result = check(flags)
    assert result.broken == broken
    assert result.trace


def test_that_a_refused_end_marks_its_key_is_mere_caution() -> None:
    assert check(QUIET._replace(stale=False)).broken is None
