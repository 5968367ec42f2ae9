"""The model of fencing tokens: that it holds, and that each rule is needed."""

from __future__ import annotations

import pytest

from tests.models.fencing import LATE, TWINS, Flags, check
from tests.unit.models.large import with_large

QUIET = Flags(faults=1)


@pytest.mark.parametrize("flags", with_large([Flags()], [Flags(faults=3)]))
def test_of_two_workers_one_has_a_valid_token_and_a_late_one_commits_nothing(flags: Flags) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > 500


@pytest.mark.parametrize(
    ("flags", "broken"),
    [
        (Flags(nonce=False), TWINS),
        (QUIET._replace(nonce=False, time=False), TWINS),
        (QUIET._replace(nonce=False, time=False, flushes=False), TWINS),
        (QUIET._replace(checks=False), LATE),
        (QUIET._replace(raises=False), LATE),
    ],
    ids=["nonce", "counter-flush", "counter-removal", "check", "open"],
)
def test_each_rule_is_needed(flags: Flags, broken: str) -> None:
    """Rules nonce, open."""
    result = check(flags)
    assert result.broken == broken
    assert result.trace


def test_with_a_nonce_a_counter_would_do() -> None:
    """Who is refused by the ledger because the counter came back gives the key back until its token is high enough."""
    assert check(Flags(time=False)).broken is None
