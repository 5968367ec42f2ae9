"""The model of the removal of load balancers: what it allows, and that each of its rules is needed."""

from __future__ import annotations

import pytest

from tests.models.removal import Flags, check

BOUND = "a bound pod's load balancer is there"


@pytest.mark.row("PP-28")
def test_no_load_balancer_goes_that_is_in_use_and_every_idle_one_goes() -> None:
    result = check(Flags())
    assert result.broken is None, result.trace
    assert result.states > 10_000


@pytest.mark.parametrize(
    ("flags", "broken"),
    [
        (Flags(fence=False), BOUND),
        (Flags(empty=False), BOUND),
        (Flags(tagged=False), BOUND),
        (Flags(confirmed=False), BOUND),
        (Flags(honoured=False), BOUND),
        (Flags(by_arn=False), BOUND),
        (Flags(again=False), "no stranger is hit"),
        (Flags(resumes=False), "stuck"),
    ],
    ids=["fence", "empty", "tagged", "confirmed", "honoured", "by ARN", "looks again", "resumes"],
)
def test_each_rule_is_needed(flags: Flags, broken: str) -> None:
    """Rules fence, whileempty, retiretag, confirmretired, samearn, lookagain, resume."""
    assert check(flags).broken == broken


def test_retiring_cannot_be_taken_back() -> None:
    """Rule neverback."""
    assert check(Flags(takes_back=True)).broken == BOUND
