"""The model of the floor of a ledger: rule `newest` lets in new runs and no others, and nothing less does."""

from __future__ import annotations

import pytest

from tests.models.ledger_floor import OLD, REFUSED, Flags, check


@pytest.mark.row("AL-20", "TM-03")
def test_new_runs_open_a_rebuilt_ledger_and_no_others_however_time_is_set() -> None:
    result = check(Flags())
    assert result.broken is None, result.trace
    assert result.states > 1000


@pytest.mark.row("AL-20", "TM-03")
@pytest.mark.parametrize(
    ("flags", "broken"),
    [(Flags(queue=False), {OLD, REFUSED}), (Flags(after=False), {OLD}), (Flags(first=False), {OLD})],
    ids=["the queue", "after the stamp", "the first configuration"],
)
def test_each_part_of_rule_newest_is_needed(flags: Flags, broken: set[str]) -> None:
    """Rule newest."""
    assert check(flags).broken in broken
