"""How many pods may be created now, after some that never became ready."""

from __future__ import annotations

from datetime import timedelta

import pytest

from domain.pod_pools.unready import Allowance, Unready, allowance


@pytest.mark.row("SD-24")
@pytest.mark.parametrize(
    ("count", "since", "words"),
    [
        (0, 0, ""),
        (1, 9, "the next is created in 1 s"),
        (1, 10, ""),
        (2, 10, "the next is created in 10 s"),
        (4, 79, "the next is created in 1 s"),
        (4, 80, ""),
    ],
)
def test_each_pod_waits_twice_as_long(count: int, since: int, words: str) -> None:
    allowed = allowance(Unready("new", count, timedelta(seconds=since)), "new", 0)
    assert words in allowed.obstacle
    assert (allowed.pods, bool(allowed.obstacle)) == ((0, True) if words else (None, False))


@pytest.mark.row("KU-13", "SD-24")
@pytest.mark.parametrize("count", [5, 6, 1000])
@pytest.mark.parametrize(
    ("since", "booting", "pods", "words"),
    [
        (0, 0, 0, "one more is tried in 5 min"),
        (299, 0, 0, "one more is tried in 1 min"),
        (300, 0, 1, "one more is tried, and others are created once it is ready"),
        (9999, 0, 1, "one more is tried, and others are created once it is ready"),
        (9999, 1, 0, "one more is tried, and others are created once it is ready"),
    ],
)
def test_after_five_pods_one_at_a_time_is_tried_each_longest_pause_for_ever(
    count: int, since: int, booting: int, pods: int, words: str
) -> None:
    """Field bug KU-13: the pool stayed empty until its template changed, whatever was mended."""
    allowed = allowance(Unready("new", count, timedelta(seconds=since)), "new", booting)
    assert allowed == Allowance(pods, f"{count} pods in a row never became ready: {words}")


def test_a_new_template_begins_anew() -> None:
    assert allowance(Unready("old", 5), "new", 3) == Allowance()
