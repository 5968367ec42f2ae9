"""What each pod of a pool needs: a table of its states."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from domain.scaling.members import Care, Member, Patience, View, care, surplus, useless

PATIENCE = Patience(ready=timedelta(minutes=10))
MINUTE = timedelta(minutes=1)


def member(name: str = "a", **changes: Any) -> Member:
    return replace(Member(name, f"uid-{name}", "new", age=MINUTE, view=View.OPEN), **changes)


@pytest.mark.row("SL-20", "SL-21", "SL-22", "SD-18", "SD-24", "SD-25")
@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, Care.NOTHING),
        ({"busy": 3}, Care.NOTHING),
        ({"view": View.NEW}, Care.OPEN),
        ({"view": View.NEW, "ready": False}, Care.NOTHING),
        ({"view": View.AWAY}, Care.OPEN),
        ({"ready": False}, Care.SET_ASIDE),
        ({"ready": False, "busy": 1}, Care.SET_ASIDE),
        ({"terminating": True}, Care.END),
        ({"terminating": True, "view": View.ENDING}, Care.NOTHING),
        ({"terminating": True, "view": View.UNKNOWN}, Care.NOTHING),
        ({"view": View.ENDING}, Care.REMOVE),
        ({"phase": "Failed"}, Care.REMOVE),
        ({"phase": "Succeeded", "busy": 1}, Care.REMOVE),
        ({"silent": 3 * MINUTE, "busy": 1}, Care.REMOVE),
        ({"silent": 2 * MINUTE, "busy": 1}, Care.NOTHING),
        ({"view": View.UNKNOWN, "ready": False}, Care.NOTHING),
        ({"view": View.UNKNOWN, "age": 11 * MINUTE}, Care.REMOVE),
        ({"view": View.FENCED}, Care.LIFT),
        ({"view": View.CLAIMED}, Care.NOTHING),
        ({"view": View.CLAIMED, "revision": "old"}, Care.NOTHING),
        ({"revision": "old"}, Care.REPLACE),
        ({"revision": "old", "busy": 1}, Care.NOTHING),
    ],
)
def test_each_state_of_a_pod_has_its_care(changes: dict[str, Any], wanted: Care) -> None:
    assert care(member(**changes), "new", PATIENCE) is wanted


@pytest.mark.row("SD-01", "SD-03", "SD-25")
def test_only_idle_pods_are_surplus_the_outdated_and_then_the_youngest_first() -> None:
    pods = [
        member("busy", busy=1),
        member("old", age=9 * MINUTE),
        member("young", age=2 * MINUTE),
        member("outdated", age=20 * MINUTE, revision="old"),
        member("fenced", view=View.FENCED),
    ]
    assert [m.name for m in surplus(pods, 2, "new")] == ["outdated", "young"]
    assert len(surplus(pods, 9, "new")) == 3
    assert surplus(pods, -1, "new") == (), "a pool that grows has none"


def test_why_a_pod_is_of_no_use_is_said() -> None:
    assert useless(member(silent=3 * MINUTE), PATIENCE) == "its runner is silent for 0:03:00"
    assert useless(member(phase="Failed"), PATIENCE) == "it has failed"
    assert useless(member(), PATIENCE) == ""
