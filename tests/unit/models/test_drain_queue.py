"""The model of hints that keys are ready: that it holds, and that each rule is needed."""

from __future__ import annotations

import pytest

from tests.models.drain_queue import BEHIND, NOBODY, NOWHERE, TWICE, UNCOVERED, check
from tests.models.drain_queue_states import Flags
from tests.unit.models.large import with_large

CALM = Flags(faults=0, restart=False)
QUIET = Flags(faults=1, restart=False)


@pytest.mark.parametrize(
    "flags",
    with_large(
        [
            Flags(events=2, faults=1),
            Flags(events=2, faults=1, ahead=2),
            Flags(events=2, faults=1, waits=1, push="in"),
            Flags(events=2, faults=1, requests=1),
            Flags(events=2, faults=1, stops=1),
            CALM._replace(stops=2, ahead=2),
            Flags(events=2, faults=1, ahead=2, balance=True),
            Flags(events=2, repeats="same", kills=False, restart=False),
            CALM._replace(keys=3, ahead=2),
        ],
        [
            Flags(),
            Flags(faults=1, ahead=2),
            Flags(faults=1, stops=2),
            Flags(keys=3, faults=1),
            Flags(keys=3, ahead=2, events=4, faults=0),
            Flags(waits=1, faults=1, requests=1),
            Flags(push="in"),
            Flags(repeats="same", kills=False, restart=False),
        ],
    ),
)
def test_every_key_is_run_and_covered_whatever_is_lost_doubled_late_or_dead(flags: Flags) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > 200


@pytest.mark.parametrize(
    ("flags", "broken"),
    [
        (CALM._replace(mark_tops=False), UNCOVERED),
        (CALM._replace(begin_tops=False), BEHIND),
        (CALM._replace(end_tops=False), UNCOVERED),
        (CALM._replace(counted="drains"), BEHIND),
        (CALM._replace(keys=1, counted="drains", leave="later"), UNCOVERED),
        (QUIET._replace(forget=False), "stuck"),
        (QUIET._replace(forget_tops=False), "stuck"),
        (Flags(faults=1, stamp_tops=False), "stuck"),
        (Flags(faults=1, events=2, closed="asks"), "hot loop"),
        (CALM._replace(stops=1, decline="drops"), UNCOVERED),
        (CALM._replace(pop="later"), NOWHERE),
        (QUIET._replace(repeats="again", kills=False), NOBODY),
        (QUIET._replace(token=False), TWICE),
        (QUIET._replace(lease=False), "stuck"),
        (CALM._replace(clear="all"), "stuck"),
    ],
    ids=[
        *("cover in mark", "cover in take_next", "cover in done", "unbegun", "unbegun, left later", "forget"),
        *("forget tops up", "opened", "silent", "decline", "one-script", "same", "holder", "lease", "generation"),
    ],
)
def test_each_rule_is_needed(flags: Flags, broken: str) -> None:
    """Rules cover, unbegun, forget, opened, silent, decline, one-script, same, holder, lease, generation."""
    result = check(flags)
    assert result.broken == broken
    assert result.trace


@pytest.mark.parametrize(
    "flags",
    [
        Flags(events=2, faults=1, done="two"),
        Flags(events=2, faults=1, unknown="refused"),
        QUIET._replace(ids=False, events=2, keys=3),
    ],
    ids=["done and next in two scripts", "an unknown hint is refused", "a counter instead of ids"],
)
def test_what_is_no_rule_may_be_left_out(flags: Flags) -> None:
    assert check(flags).broken is None
