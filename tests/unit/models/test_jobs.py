"""The model of jobs on slots, with the real table of transitions: that it holds, and that each rule is needed."""

from __future__ import annotations

import pytest

from tests.models.jobs import check
from tests.models.jobs_states import NO_SLOT, TWICE, TWO_IN_SLOT, TWO_PROCESSES, Flags
from tests.unit.models.large import with_large


@pytest.mark.parametrize("flags", with_large([Flags()], [Flags(faults=2)]))
def test_a_job_runs_once_at_a_time_in_a_slot_of_its_own_and_its_client_sees_its_end(flags: Flags) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > 50_000


@pytest.mark.parametrize(
    ("flags", "broken"),
    [
        (Flags(attempt=False), TWO_IN_SLOT),
        (Flags(gone=False), TWO_PROCESSES),
        (Flags(list=False), "stuck"),
        (Flags(newer=False), TWO_PROCESSES),
        (Flags(keep=False), TWICE),
        (Flags(retain=False), TWICE),
        (Flags(reslot=False), TWO_IN_SLOT),
        (Flags(regrant=False), TWO_PROCESSES),
        (Flags(onpods=False), NO_SLOT),
        (Flags(faults=0, terminations=1, moves=False), "stuck"),
        (Flags(resend=False), "stuck"),
    ],
    ids=["attempt", "gone", "list", "newerreport", "keep", "retain", "reslot", "regrant", "onpods", "moves", "resend"],
)
def test_each_rule_is_needed(flags: Flags, broken: str) -> None:
    """Rules attempt, gone, list, newerreport, keep, retain, reslot, regrant, onpods, moves, resend."""
    result = check(flags)
    assert result.broken == broken
    assert result.trace


@pytest.mark.row("KU-12")
@pytest.mark.parametrize("flags", with_large([Flags(faults=0, terminations=1)], [Flags(terminations=1)]))
def test_what_was_placed_on_a_pod_that_terminates_runs_elsewhere_and_once(flags: Flags) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > 50_000


def test_a_pod_that_goes_on_after_it_is_gone_from_kubernetes_runs_a_job_twice() -> None:
    """What is not promised: two pods run at once after a forced deletion, or on a node that is cut off."""
    assert check(Flags(ends=False)).broken == TWO_PROCESSES
