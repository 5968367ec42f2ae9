"""Waits after failures: bounded, growing, spread."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.backoff import RetryPolicy, backoff

CHANCE = st.floats(0, 1, exclude_max=True)
TRIES = st.integers(0, 10_000)
POLICY = RetryPolicy(timedelta(seconds=1), timedelta(minutes=5), jitter=0.5)


@pytest.mark.row("EV-13")
@given(TRIES, CHANCE)
def test_a_wait_is_never_longer_than_the_bound_nor_shorter_than_half_the_first(tries: int, chance: float) -> None:
    assert timedelta(seconds=0.5) <= backoff(POLICY, tries, chance) <= POLICY.longest


@pytest.mark.row("EV-13")
@given(TRIES, CHANCE)
def test_the_same_chance_gives_a_longer_wait_after_one_more_failure_until_the_bound(tries: int, chance: float) -> None:
    one, two = backoff(POLICY, tries, chance), backoff(POLICY, tries + 1, chance)
    assert two == one if tries >= 9 else two > one


@pytest.mark.row("EV-13")
def test_without_jitter_the_wait_doubles() -> None:
    policy = RetryPolicy(timedelta(seconds=1), timedelta(seconds=10), jitter=0)
    assert [backoff(policy, tries, 0.9).total_seconds() for tries in range(6)] == [1, 2, 4, 8, 10, 10]


@pytest.mark.row("EV-13")
@given(st.integers(max_value=0))
def test_a_count_that_makes_no_sense_is_the_first(tries: int) -> None:
    assert backoff(POLICY, tries, 0) == POLICY.first
