"""The model of an API whose versions go back: what holds, and which of its rules are needed."""

from __future__ import annotations

import pytest

from tests.models.history import Flags, check


@pytest.mark.row("KU-11")
@pytest.mark.parametrize("flags", [Flags(), Flags(edits=1, restores=2)])
def test_whatever_a_restore_brings_back_is_followed(flags: Flags) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > 1_000


@pytest.mark.row("KU-11")
@pytest.mark.parametrize(
    "flags",
    [
        Flags(watermark=False, stored=False, object=False),
        Flags(stored=False),
        Flags(object=False),
        Flags(numbered=False),
        Flags(edits=3, restarts=0, own=False),
    ],
    ids=["no history is noticed", "no stored watermark", "objects are not compared", "no number", "late writes count"],
)
def test_each_rule_is_needed(flags: Flags) -> None:
    """Rules newhistory, ownhistory, laterun."""
    assert check(flags).broken == "stuck"
