"""Tokens of runners: names that say their age, and what pods say of theirs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.pod_pools.pod_steps import LedgerState, Member, PodStep, PodTimeouts, next_step
from domain.pod_pools.runner_token import (
    PodToken,
    issue_time,
    new_token_name,
    newest,
    overdue,
    parse_token,
    tokens_to_keep,
)

NOW = datetime(2026, 11, 28, 13, tzinfo=UTC)
OLD, NEW = "token-1795870000-00000001", "token-1795870600-00000000"
DAY = timedelta(days=1)


@pytest.mark.row("SD-26")
def test_a_token_is_overdue_by_its_age_and_where_there_is_none() -> None:
    assert overdue([], DAY, NOW)
    assert not overdue([new_token_name([], NOW, "00000000")], DAY, NOW + DAY - timedelta(seconds=1))
    assert overdue([new_token_name([], NOW, "00000000")], DAY, NOW + DAY)
    assert not overdue([OLD, NEW], DAY, datetime.fromtimestamp(issue_time(NEW) - 1e6, UTC)), "a clock that was set back"


@pytest.mark.row("SD-26")
def test_the_newest_and_those_in_pods_are_kept() -> None:
    older = "token-1-00000000"
    assert tokens_to_keep([OLD, NEW, older, "password"], [older, "token-2-00000000"]) == {NEW, older}
    assert tokens_to_keep([], [OLD]) == set()


@given(st.lists(st.integers(0, 10**11 - 2)), st.integers(0, 10**10))
def test_a_fresh_token_is_the_newest_whatever_the_clock_says(times: list[int], now: int) -> None:
    names = [f"token-{time}-ffffffff" for time in times]
    name = new_token_name(names, datetime.fromtimestamp(now, UTC), "00000000")
    assert newest([*names, name]) == name


@given(st.text() | st.none() | st.integers())
def test_what_we_did_not_write_is_no_token(text: object) -> None:
    assert parse_token(text) is None


def test_what_a_pod_says_is_read_back_and_nothing_near_it() -> None:
    has = PodToken(NEW, "a" * 64)
    assert parse_token(has.text) == has
    for wrong in (
        has.text + "\n",
        has.text[:-1],
        has.text.upper(),
        f"x{has.text}",
        f"token-\u0661-00000000:{'a' * 64}",
    ):
        assert parse_token(wrong) is None


@pytest.mark.row("SD-26", "SL-05")
@pytest.mark.parametrize(("busy", "wanted"), [(0, PodStep.REPLACE), (1, PodStep.NOTHING)])
def test_an_idle_pod_with_an_older_token_is_replaced_as_one_of_an_older_template_is(busy: int, wanted: PodStep) -> None:
    member = Member("a", "uid", "one", age=DAY, view=LedgerState.OPEN, busy=busy, secret=OLD)
    assert next_step(member, f"one {NEW}", PodTimeouts(DAY)) is wanted
    assert next_step(member, "one", PodTimeouts(DAY)) is wanted
    assert next_step(member, f"one {OLD}", PodTimeouts(DAY)) is PodStep.NOTHING
