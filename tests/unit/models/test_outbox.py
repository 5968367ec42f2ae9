"""The model of the outbox of allocation failures: what it allows, and which of its parts are needed."""

from __future__ import annotations

import pytest

from tests.models.outbox import Flags, check


@pytest.mark.row("EV-31")
def test_each_wait_becomes_an_event_whoever_dies() -> None:
    result = check(Flags())
    assert result.broken is None, result.trace
    assert result.states > 100


@pytest.mark.row("EV-31")
@pytest.mark.parametrize("flags", [Flags(recorded=False), Flags(append_first=False)], ids=["recorded", "append first"])
def test_each_part_of_rule_outbox_is_needed(flags: Flags) -> None:
    """Rule outbox."""
    assert check(flags).broken == "stuck"
