"""The model of events of a run's own writes: that they wake no run for ever, and what is needed for that."""

from __future__ import annotations

import pytest

from tests.models.echo import Flags, check


@pytest.mark.parametrize("leaves_out", [False, True])
def test_a_run_wakes_itself_once_whether_or_not_known_events_are_left_out(leaves_out: bool) -> None:
    result = check(Flags(leaves_out=leaves_out))
    assert result.broken is None, result.trace
    assert result.states > 300


@pytest.mark.parametrize(
    ("flags", "broken"),
    [
        (Flags(edits=0, timers=0, of_state=False), "hot loop"),
        (Flags(edits=0, timers=0, of_state=False, leaves_out=True), "hot loop"),
        (Flags(all_events=False), "stuck"),
    ],
    ids=["number of tries", "number of tries, known events left out", "changes of the spec alone"],
)
def test_a_text_of_the_state_alone_and_a_mark_for_all_events_are_needed(flags: Flags, broken: str) -> None:
    assert check(flags).broken == broken
