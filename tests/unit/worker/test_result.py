"""Results that are too long say so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berthmaster.jobs.payloads import FinishJob
from berthmaster.jobs.result import LONGEST, kept
from berthmaster.runner.task import text_of
from workers.tasks.payloads import read


def finished(result: str) -> str:
    return read(FinishJob, ("ci/runners", "j", "plan", "1-1", "succeeded", result), {}).result


@pytest.mark.parametrize("way", [kept, text_of, finished])
def test_what_is_cut_says_how_long_it_was(way: object) -> None:
    assert callable(way)
    whole = "x" * LONGEST
    assert way(whole) == whole
    for more in (1, 100, 123_456):
        cut = way(whole + "y" * more)
        assert len(cut) == LONGEST
        assert cut.startswith("xxx")
        assert cut.endswith(f"\n[cut: the result had {LONGEST + more} characters]")


@given(st.integers(0, 30), st.sampled_from(["x", "é", "\udcff", "𝄞"]))
def test_a_result_is_kept_within_the_limit_and_once(beyond: int, letter: str) -> None:
    text = text_of(letter * (LONGEST - 15 + beyond))
    assert len(text) <= LONGEST
    assert kept(text) == text
    text.encode()
