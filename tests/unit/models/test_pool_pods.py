"""Every way in which a worker may come to know a pool's pod by a list and the changes since."""

from __future__ import annotations

import pytest

from tests.models.pool_pods import RULES, check


@pytest.mark.row("WC-49")
def test_what_a_worker_knows_of_a_pod_is_in_the_end_what_the_pod_is() -> None:
    found = check()
    assert (found.broken, found.trace) == (None, [])
    assert found.states > 100


@pytest.mark.parametrize("rule", sorted(RULES))
def test_each_rule_is_needed(rule: str) -> None:
    """Rules beginfirst, contiguous, countlist and newestpod."""
    assert check(RULES - {rule}).broken == "stuck"
