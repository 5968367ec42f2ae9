"""The model of listeners that are made and deleted without a token: that it holds, and that each rule is needed."""

from __future__ import annotations

import pytest

from tests.models.own_listener import TOUCHED, Flags, check
from tests.unit.models.large import with_large

ONE = Flags(faults=1)


@pytest.mark.parametrize("flags", with_large([Flags()], [Flags(faults=3)]))
def test_a_late_call_never_touches_the_listener_of_a_bound_pod_and_no_orphan_stays(flags: Flags) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > 2000


@pytest.mark.parametrize(
    ("flags", "broken"),
    [
        (ONE._replace(by_arn=False), TOUCHED),
        (ONE._replace(when_gone=False), TOUCHED),
        (ONE._replace(look=False, audit=False), "stuck"),
        (ONE._replace(audit=False), "stuck"),
    ],
    ids=["byarn", "when gone", "look", "audit"],
)
def test_each_rule_is_needed(flags: Flags, broken: str) -> None:
    """Rule byarn."""
    result = check(flags)
    assert result.broken == broken
    assert result.trace


def test_with_an_audit_a_look_by_tag_only_saves_time() -> None:
    assert check(Flags(look=False)).broken is None
