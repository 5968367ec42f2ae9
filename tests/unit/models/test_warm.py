"""Every way that claims, pods and runs of a warm pool can take."""

from __future__ import annotations

import pytest

from tests.models.warm import check


@pytest.mark.row("WC-36", "WC-37", "WC-44", "WC-09")
@pytest.mark.parametrize(("most", "idle"), [(3, 0), (3, 2), (5, 2), (8, 3)])
def test_a_warm_pool_ends_with_what_is_wanted_and_never_makes_a_pod_too_many(most: int, idle: int) -> None:
    found = check(most, idle)
    assert (found.broken, found.trace) == (None, [])
    assert found.states > 50


@pytest.mark.row("WC-09")
def test_without_a_pod_for_each_claim_that_waits_some_wait_for_ever() -> None:
    """Rule additive."""
    assert check(5, 0, additive=False).broken == "stuck"


@pytest.mark.row("SD-33")
@pytest.mark.parametrize(("most", "idle"), [(3, 2), (5, 2), (6, 3)])
def test_pods_that_are_ready_no_more_cost_no_warm_pod(most: int, idle: int) -> None:
    found = check(most, idle, flips=2)
    assert (found.broken, found.trace) == (None, [])
    assert found.states > 100


@pytest.mark.row("SD-33")
def test_where_pods_that_are_not_ready_count_as_capacity_warm_ones_are_removed() -> None:
    """Rule capable."""
    assert check(6, 2, flips=2, capable=False).broken == "churn"
