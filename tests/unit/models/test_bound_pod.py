"""The model of a run that believes the answer to its write: that it holds, and that its rule is needed."""

from __future__ import annotations

import pytest

from tests.models.bound_pod import Flags, check

SAFE = [Flags(), Flags(echo=True), Flags(indexes=False, reads=True), Flags(indexes=False, echo=True)]


@pytest.mark.parametrize("flags", SAFE, ids=str)
def test_what_a_claim_shows_of_its_pod_is_what_the_pod_says(flags: Flags) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > 10


def test_rule_indexed_is_needed() -> None:
    """Rule indexed: an event of a pod that is neither labelled nor in the index wakes nobody."""
    result = check(Flags(indexes=False))
    assert result.broken == "stuck"
    assert "somebody takes the label off" in result.trace
