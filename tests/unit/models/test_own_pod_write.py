"""The model of the event of a claim's own write of its pod: that it holds, and that each of its rules is needed."""

from __future__ import annotations

import pytest

from tests.models.own_pod_write import Flags, check


@pytest.mark.row("WC-49")
def test_no_change_of_the_pod_is_taken_for_the_event_of_the_run_s_own_write() -> None:
    result = check(Flags())
    assert result.broken is None, result.trace
    assert result.states > 100


@pytest.mark.parametrize("rule", Flags._fields)
def test_each_rule_is_needed(rule: str) -> None:
    """Rules expected and ownpodversion."""
    assert check(Flags()._replace(**{rule: False})).broken == "stuck"
