"""What the protocol of one port number in several pools needs, and the shortest way to lose it."""

from __future__ import annotations

import pytest

from tests.models.same_port import Flags, check


@pytest.mark.row("AL-10", "AL-12")
def test_no_pod_is_left_with_a_half_or_asleep_beside_a_common_number() -> None:
    found = check(Flags())
    assert (found.broken, found.trace) == (None, [])
    assert found.states > 1000


@pytest.mark.row("AL-10", "AL-12")
@pytest.mark.parametrize("off", ["gives_back", "compares"])
def test_each_rule_is_needed(off: str) -> None:
    """Rules nohalf, freshlook."""
    found = check(Flags()._replace(**{off: False}))
    assert found.broken == "stuck"
    assert found.trace
