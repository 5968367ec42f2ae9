"""The model of retained ports: that it holds, and which of its rules are needed."""

from __future__ import annotations

import pytest

from tests.models.retain import check
from tests.models.retain_states import Flags

QUIET = Flags(pods=1, toggles=0, slow=0, crash=0, loss=0, other=False)


@pytest.mark.row("BD-22", "AL-01", "AL-17", "PP-28")
@pytest.mark.parametrize(
    "flags",
    [
        QUIET._replace(crash=1, toggles=1, other=True),
        QUIET._replace(slow=1, other=True),
        QUIET._replace(loss=1, other=True),
    ],
    ids=["crash", "stale calls", "Redis is lost"],
)
def test_a_promised_port_stays_with_its_name_and_has_one_owner(flags: Flags) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > 10_000


@pytest.mark.parametrize(
    ("flags", "broken"),
    [
        (QUIET._replace(fence=False, slow=1, other=True), "K"),
        (QUIET._replace(atomic=False), "K"),
        (QUIET._replace(empty=False), "T"),
        (QUIET._replace(compare=False), "T"),
        (QUIET._replace(keeptag=False, loss=1), "K"),
        (QUIET._replace(retag=False, loss=1, toggles=1), "K"),
        (QUIET._replace(tagfirst=False, keep=0, loss=1, crash=1, toggles=1, pods=0), "K"),
    ],
    ids=[
        "a stale run writes",
        "the sweep writes what it saw before",
        "retained with its targets",
        "adopted with the targets of others",
        "a rebuild does not look at the tag",
        "the tags of an adopted port stay",
        "recorded before it is tagged",
    ],
)
def test_each_rule_is_needed(flags: Flags, broken: str) -> None:
    """Rules atomic, droptargets, compare, retag, tagfirst, keeptag."""
    assert check(flags).broken == broken


@pytest.mark.parametrize(
    "flags",
    [QUIET._replace(oneway=False, slow=1), QUIET._replace(byname=False, loss=1)],
    ids=["what is releasing is adopted", "a published port of a dead tag"],
)
def test_what_is_mere_caution_holds_without(flags: Flags) -> None:
    assert check(flags).broken is None
