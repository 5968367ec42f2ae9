"""Asking for many at once, of which some may be gone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from workers.cloud.aws.batches import describe_existing
from workers.cloud.errors import CloudInvalid, CloudNotFound, CloudUnavailable

IDS = [f"arn:{n}" for n in range(25)]


def refusing(*wrong: str, code: str = "LoadBalancerNotFound") -> list[str]:
    """What is found of IDS when AWS refuses every batch with one of `wrong` in it."""
    error = CloudNotFound if code == "LoadBalancerNotFound" else CloudInvalid

    def fetch(batch: Sequence[str]) -> list[str]:
        if set(wrong) & set(batch):
            raise error("Describe", code, "")
        return list(batch)

    return list(describe_existing(IDS, fetch))


@pytest.mark.row("PP-26", "PP-27")
@pytest.mark.parametrize("code", ["LoadBalancerNotFound", "ValidationError"])
def test_what_is_refused_hides_nothing_else(code: str) -> None:
    assert refusing("arn:3", "arn:22", code=code) == [each for each in IDS if each not in ("arn:3", "arn:22")]


@pytest.mark.row("PP-27")
def test_an_empty_answer_is_not_taken_for_their_absence() -> None:
    pages = iter([list(IDS[:20]), []])
    with pytest.raises(CloudUnavailable, match="0 of 5"):
        list(describe_existing(IDS, lambda _: next(pages)))


def test_a_call_that_is_wrong_in_itself_is_not_taken_for_their_absence() -> None:
    with pytest.raises(CloudInvalid):
        refusing("arn:3", code="InvalidParameterCombination")
