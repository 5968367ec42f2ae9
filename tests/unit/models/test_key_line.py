"""The model of jobs behind one serial key, with the real table: it holds, and each rule and each row is needed."""

from __future__ import annotations

import pytest

from berthmaster.jobs.job import JobState
from berthmaster.jobs.lifecycle import Event
from tests.models.key_line import check
from tests.models.key_line_states import HELD, OVERTAKEN, TWICE, TWO_WITH_KEY, UNSAID, Flags
from tests.unit.models.large import with_large


@pytest.mark.parametrize(
    ("flags", "states"),
    with_large(
        [
            (Flags(faults=2), 5000),
            (Flags(pods=1, faults=2), 5000),
            (Flags(faults=2, classes=True, losses=False), 5000),
            (Flags(jobs=4, urgent=True), 10_000),
        ],
        [(Flags(faults=2, urgent=True), 40_000), (Flags(faults=3), 40_000)],
    ),
)
def test_the_key_has_one_job_at_a_time_in_the_order_of_submission(flags: Flags, states: int) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > states


@pytest.mark.parametrize(
    ("flags", "broken"),
    [
        (Flags(jobs=4, pods=1, urgent=True, behind=False), OVERTAKEN),
        (Flags(classes=True, losses=False, relined=False), OVERTAKEN),
        (Flags(restored=False), TWICE),
        (Flags(idle=False), "stuck"),
        (Flags(truth=False), TWO_WITH_KEY),
        (Flags(unowned=False), "stuck"),
        (Flags(asks=False, deletions=False), TWICE),
        (Flags(retake=False), TWO_WITH_KEY),
        (Flags(beside=False), TWO_WITH_KEY),
        (Flags(says=False), UNSAID),
    ],
    ids=[
        *("behind", "relined", "restored", "unowned-slot", "unowned-truth", "unowned-key", "doubtful"),
        *("retaken", "beside", "beside-named"),
    ],
)
def test_each_rule_is_needed(flags: Flags, broken: str) -> None:
    """Rules behind, relined, restored, unowned, doubtful, retaken, beside."""
    result = check(flags)
    assert result.broken == broken
    assert result.trace


@pytest.mark.parametrize(
    ("event", "state", "broken"),
    [
        (Event.RESEND, JobState.PLACED, "stuck"),
        (Event.DELAY_OVER, JobState.WAITING, "stuck"),
        (Event.UNSENT, JobState.PLACED, HELD),
        (Event.KEY_FREE, JobState.WAITING, "stuck"),
    ],
)
def test_each_row_is_needed(event: Event, state: JobState, broken: str) -> None:
    assert check(Flags(without=((event, state),))).broken == broken
