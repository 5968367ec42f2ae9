"""The model of runner tokens holds, and each rule of it is needed."""

from __future__ import annotations

import pytest

from tests.models.runner_token import Flags, check


@pytest.mark.row("SD-26")
def test_no_runner_is_locked_out_whatever_is_lost_killed_or_late() -> None:
    result = check(Flags())
    assert (result.broken, result.trace) == (None, [])
    assert result.states > 1000


@pytest.mark.row("SD-26")
@pytest.mark.parametrize("rule", ["from_pods", "kept", "adds", "good_first", "version", "fence"])
def test_without_a_rule_one_is(rule: str) -> None:
    """Rules frompods, keepsecret, goodfirst, secretversion."""
    assert check(Flags()._replace(**{rule: False})).broken
