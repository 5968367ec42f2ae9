"""Tokens of runners: names that say their age, and what pods say of theirs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.pod_pools.pod_steps import Care, Member, Patience, View, care
from domain.pod_pools.runner_token import Carried, carried, fresh, kept, made, newest, overdue

NOW = datetime(2026, 11, 28, 13, tzinfo=UTC)
OLD, NEW = "token-1795870000-00000001", "token-1795870600-00000000"
DAY = timedelta(days=1)


@pytest.mark.row("SD-26")
def test_a_token_is_overdue_by_its_age_and_where_there_is_none() -> None:
    assert overdue([], DAY, NOW)
    assert not overdue([fresh([], NOW, "00000000")], DAY, NOW + DAY - timedelta(seconds=1))
    assert overdue([fresh([], NOW, "00000000")], DAY, NOW + DAY)
    assert not overdue([OLD, NEW], DAY, datetime.fromtimestamp(made(NEW) - 1e6, UTC)), "a clock that was set back"


@pytest.mark.row("SD-26")
def test_the_newest_and_those_in_pods_are_kept() -> None:
    older = "token-1-00000000"
    assert kept([OLD, NEW, older, "password"], [older, "token-2-00000000"]) == {NEW, older}
    assert kept([], [OLD]) == set()


@given(st.lists(st.integers(0, 10**11 - 2)), st.integers(0, 10**10))
def test_a_fresh_token_is_the_newest_whatever_the_clock_says(times: list[int], now: int) -> None:
    names = [f"token-{time}-ffffffff" for time in times]
    name = fresh(names, datetime.fromtimestamp(now, UTC), "00000000")
    assert newest([*names, name]) == name


@given(st.text() | st.none() | st.integers())
def test_what_we_did_not_write_is_no_token(text: object) -> None:
    assert carried(text) is None


def test_what_a_pod_says_is_read_back_and_nothing_near_it() -> None:
    has = Carried(NEW, "a" * 64)
    assert carried(has.text) == has
    for wrong in (
        has.text + "\n",
        has.text[:-1],
        has.text.upper(),
        f"x{has.text}",
        f"token-\u0661-00000000:{'a' * 64}",
    ):
        assert carried(wrong) is None


@pytest.mark.row("SD-26", "SL-05")
@pytest.mark.parametrize(("busy", "wanted"), [(0, Care.REPLACE), (1, Care.NOTHING)])
def test_an_idle_pod_with_an_older_token_is_replaced_as_one_of_an_older_template_is(busy: int, wanted: Care) -> None:
    member = Member("a", "uid", "one", age=DAY, view=View.OPEN, busy=busy, secret=OLD)
    assert care(member, f"one {NEW}", Patience(DAY)) is wanted
    assert care(member, "one", Patience(DAY)) is wanted
    assert care(member, f"one {OLD}", Patience(DAY)) is Care.NOTHING
