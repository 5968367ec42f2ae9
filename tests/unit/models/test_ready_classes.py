"""The model of classes of ready keys: that it holds, and that each rule is needed."""

from __future__ import annotations

import pytest

from berthmaster.kinds import ReadyClass
from tests.models.ready_classes import BEHIND, STARVES, TWICE, Flags, check, worst

FEW = {ReadyClass.CLAIM: 4, ReadyClass.POOL: 4, ReadyClass.POD: 4, ReadyClass.SLOW: 8}


def test_an_event_never_waits_behind_the_keys_of_an_audit() -> None:
    result = check(Flags())
    assert result.broken is None, result.trace
    assert result.states > 20


@pytest.mark.parametrize(
    ("flags", "broken"),
    [(Flags(promote=False), BEHIND), (Flags(demote=True), BEHIND), (Flags(both=True), TWICE)],
    ids=["an event leaves a slow key", "an audit moves a key back", "a key is in two queues"],
)
def test_each_part_of_rule_promote_is_needed(flags: Flags, broken: str) -> None:
    """Rule promote."""
    result = check(flags)
    assert result.broken == broken
    assert result.trace


@pytest.mark.parametrize("ready_class", ReadyClass)
def test_no_class_waits_for_more_than_a_few_keys_whatever_is_ready(ready_class: ReadyClass) -> None:
    """Rule turns."""
    assert worst(ready_class) <= FEW[ready_class]
    assert worst(ready_class, before=10) < STARVES


@pytest.mark.parametrize("ready_class", [of for of in ReadyClass if of is not ReadyClass.CLAIM])
def test_priority_without_turns_starves(ready_class: ReadyClass) -> None:
    """Rule turns."""
    assert worst(ready_class, rule="priority") == STARVES
