"""The model of a log and its follower: what it allows, and which of its rules are needed."""

from __future__ import annotations

import pytest

from tests.models.job_log import Flags, check


@pytest.mark.row("UI-21")
def test_each_line_is_shown_once_and_no_log_outlives_its_job() -> None:
    result = check(Flags())
    assert result.broken is None, result.trace
    assert result.states > 50


@pytest.mark.row("UI-21")
@pytest.mark.parametrize(
    ("flags", "broken"),
    [
        (Flags(numbered=False), "a line twice"),
        (Flags(last_read=False), "a line is missing"),
        (Flags(of_record=False), "a log of no job"),
    ],
    ids=["numbered", "last read", "of record"],
)
def test_each_rule_is_needed(flags: Flags, broken: str) -> None:
    """Rules lineonce, lastread and logofjob."""
    assert check(flags).broken == broken
