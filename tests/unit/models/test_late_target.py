"""The model of calls that land after the port of a precreated listener has another owner: which rules are needed."""

from __future__ import annotations

import pytest

from tests.models.late_target import run


@pytest.mark.row("EV-09", "BD-15")
@pytest.mark.parametrize("flags", [{}, {"audit": False, "kill": False}], ids=["deaths", "pauses without audit"])
def test_the_target_group_ends_right_whenever_calls_land(flags: dict[str, bool]) -> None:
    result = run(**flags)
    assert result.broken is None, result.trace
    assert result.states > 10_000


@pytest.mark.parametrize(
    "flags",
    [
        {"intent": False, "audit": False, "faults": 1},
        {"tells": False, "audit": False, "kill": False, "faults": 1},
        {"number": False, "audit": False, "kill": False},
        {"wish_first": False, "audit": False, "kill": False, "faults": 1},
        {"audit": False, "faults": 1},
    ],
    ids=["address not noted", "refusal not told", "wish is a flag", "owner looked up first", "no audit"],
)
def test_each_rule_is_needed(flags: dict[str, bool | int]) -> None:
    """Rules addressfirst, askcomparison, requestnumber, audittargets."""
    assert run(**flags).broken == "stuck"


def test_that_a_record_answers_with_a_wish_is_mere_caution() -> None:
    assert run(answered=False, audit=False, kill=False).broken is None
