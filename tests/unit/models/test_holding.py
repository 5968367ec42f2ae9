"""Pods that are held because of their labels, in every order of claims, runs, jobs and losses."""

from __future__ import annotations

import pytest

from tests.models.holding import anything, check


@pytest.mark.row("WC-38", "WC-02")
def test_a_pod_that_is_held_because_of_its_label_is_safe_and_comes_back() -> None:
    found = check()
    assert (found.broken, found.trace) == (None, [])
    assert found.states > 1000


@pytest.mark.row("WC-38")
def test_holding_a_pod_with_a_job_or_writing_what_has_changed_breaks_a_rule() -> None:
    """Rules rv, idleonly."""
    assert check(anything).broken == "killed"
    assert check(rv=False).broken in ("I4", "held")
