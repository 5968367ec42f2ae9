"""When the next pod may be created after some that never became ready."""

from __future__ import annotations

from datetime import timedelta

import pytest

from domain.pod_pools.unready import Unready, blocked


@pytest.mark.row("SD-24")
@pytest.mark.parametrize(
    ("count", "since", "words"),
    [
        (0, 0, ""),
        (1, 9, "the next is created in 1 s"),
        (1, 10, ""),
        (2, 10, "the next is created in 10 s"),
        (4, 79, "the next is created in 1 s"),
        (5, 9999, "no more are created until the template changes"),
    ],
)
def test_each_pod_waits_twice_as_long_and_the_sixth_for_ever(count: int, since: int, words: str) -> None:
    said = blocked(Unready("new", count, timedelta(seconds=since)), "new")
    assert words in said
    assert bool(said) == bool(words)


def test_a_new_template_begins_anew() -> None:
    assert blocked(Unready("old", 5), "new") == ""
