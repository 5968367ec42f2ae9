"""The model of `done(written=...)`: what it allows, and which of its rules are needed."""

from __future__ import annotations

import pytest

from tests.models.echo_seen import Flags, check


@pytest.mark.row("EV-03", "EV-12")
@pytest.mark.parametrize(
    "flags",
    [
        Flags(look=False),
        Flags(faults=1),
        Flags(live=True, look=False, faults=1),
        Flags(touches=1, look=False, faults=1),
    ],
    ids=["snapshot", "look", "live", "asked"],
)
def test_no_event_is_lost_when_a_run_stores_what_it_wrote(flags: Flags) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > 10_000


@pytest.mark.row("EV-03", "EV-12")
@pytest.mark.parametrize(
    "flags", [Flags(swallows=1, faults=0), Flags(leaves=1, faults=0), Flags(swallows=1, leaves=1, faults=0)]
)
def test_who_looks_for_himself_is_neither_misled_by_a_gap_in_the_stream_nor_hides_an_end(flags: Flags) -> None:
    result = check(flags)
    assert result.broken is None, result.trace


def test_without_a_look_a_gap_in_the_stream_makes_a_run_try_for_ever() -> None:
    """Rule reread."""
    assert check(Flags(swallows=1, look=False, faults=0)).broken == "hot loop"


@pytest.mark.parametrize(
    "flags",
    [
        Flags(leaves=1, stores_own=True, faults=0),
        Flags(precondition=False, faults=0),
        Flags(newer=False, faults=0),
        Flags(generation=False, faults=0),
        Flags(none_newer=False, faults=0),
        Flags(marks_alone=False, touches=1, faults=0),
    ],
    ids=[
        "what was written after a look is stored",
        "no precondition",
        "an older version replaces a newer",
        "done does not compare generations",
        "a newer version is taken for an echo",
        "a request is taken for an echo",
    ],
)
def test_each_rule_is_needed(flags: Flags) -> None:
    """Rules onversion, onlynewer, onlyechoes, ownread."""
    assert check(flags).broken == "stuck"


@pytest.mark.parametrize(
    "flags",
    [Flags(over_gone=True, live=True, faults=0), Flags(fenced=False, faults=1), Flags(living=False, faults=1)],
    ids=["gone", "stale", "an end as echo"],
)
def test_what_is_mere_caution_holds_without(flags: Flags) -> None:
    assert check(flags).broken is None
