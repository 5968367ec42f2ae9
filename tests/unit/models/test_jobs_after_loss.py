"""The model of jobs after a loss of Redis, with the real table of transitions: it holds, and each rule is needed."""

from __future__ import annotations

import pytest

from tests.models.jobs_after_loss import check
from tests.models.jobs_after_loss_states import IN_USE, NOT_CONFIRMED, TWICE, TWO_IN_SLOT, TWO_PROCESSES, Flags
from tests.unit.models.large import with_large

EMPTY = Flags(removals=0, copies=0)
COPY = Flags(removals=0)
REMOVAL = Flags(copies=0)


@pytest.mark.parametrize(
    "flags",
    with_large([REMOVAL, COPY], [Flags(), REMOVAL._replace(placed=True), EMPTY._replace(faults=2)]),
)
def test_jobs_come_back_and_nothing_runs_twice_or_on_a_pod_that_goes(flags: Flags) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > 40_000


@pytest.mark.parametrize(
    ("flags", "broken"),
    [
        (Flags(report=False), IN_USE),
        (EMPTY._replace(fresh=False), TWO_IN_SLOT),
        (EMPTY._replace(gate=False), TWO_PROCESSES),
        (REMOVAL._replace(write=False), IN_USE),
        (EMPTY._replace(held=False), TWO_IN_SLOT),
        (EMPTY._replace(outs=False), TWICE),
        (EMPTY._replace(faults=2, token=False), NOT_CONFIRMED),
        (EMPTY._replace(resubmit=False), "stuck"),
        (REMOVAL._replace(placed=True, wish=False), TWICE),
    ],
    ids=["report", "fresh", "gate", "write", "held", "outs", "token", "resubmit", "wish"],
)
def test_each_rule_is_needed(flags: Flags, broken: str) -> None:
    """Rules report, fresh, gate, write, held, outs, token, resubmit, wish."""
    result = check(flags)
    assert result.broken == broken
    assert result.trace
