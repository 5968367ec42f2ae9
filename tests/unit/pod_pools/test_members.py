"""What each pod of a pool needs: a table of its states."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from domain.claims.pod import Phase
from domain.pod_pools.pod_steps import Care, Member, Patience, View, care, claimable, surplus, useless

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
        ({"view": View.CLAIMED, "closed": MINUTE}, Care.LIFT),
        ({"cordoned": True, "ready": False}, Care.SET_ASIDE),
        ({"view": View.UNKNOWN, "cordoned": True, "ready": False, "age": 11 * MINUTE}, Care.NOTHING),
        ({"view": View.UNKNOWN, "runner": False}, Care.REGISTER),
        ({"view": View.UNKNOWN, "runner": False, "ready": False}, Care.NOTHING),
        ({"runner": False, "silent": 3 * MINUTE}, Care.NOTHING),
        ({"stage": Phase.UNKNOWN}, Care.OPEN),
        ({"view": View.CLAIMED, "revision": "old"}, Care.NOTHING),
        ({"revision": "old"}, Care.REPLACE),
        ({"revision": "old", "busy": 1}, Care.NOTHING),
    ],
)
def test_each_state_of_a_pod_has_its_care(changes: dict[str, Any], wanted: Care) -> None:
    assert care(member(**changes), "new", PATIENCE) is wanted


@pytest.mark.row("WC-02", "WC-38")
@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, Care.HOLD),
        ({"view": View.NEW}, Care.HOLD),
        ({"view": View.FENCED, "token": "a run"}, Care.HOLD),
        ({"view": View.ENDING}, Care.HOLD),
        ({"view": View.CLAIMED, "token": "another"}, Care.HOLD),
        ({"view": View.CLAIMED, "token": "mine"}, Care.NOTHING),
        ({"view": View.CLAIMED, "token": "mine", "closed": MINUTE, "silent": 3 * MINUTE}, Care.NOTHING),
        ({"view": View.CLAIMED, "token": "mine", "phase": "Failed"}, Care.NOTHING),
        ({"busy": 1}, Care.SET_ASIDE),
        ({"busy": 1, "view": View.AWAY}, Care.NOTHING),
        ({"view": View.UNKNOWN}, Care.NOTHING),
        ({"view": View.UNKNOWN, "runner": False}, Care.REGISTER),
        ({"view": View.UNKNOWN, "age": 11 * MINUTE}, Care.REGISTER),
        ({"stage": Phase.TERMINATING, "claimed_by": ""}, Care.REMOVE),
        ({"stage": Phase.DRAINING, "claimed_by": "", "view": View.CLAIMED, "token": "its claim"}, Care.NOTHING),
        ({"terminating": True}, Care.END),
    ],
)
def test_a_pod_that_a_claim_has_or_had_is_closed_and_stays(changes: dict[str, Any], wanted: Care) -> None:
    bound = member(stage=Phase.BOUND, claimed_by="mine")
    assert care(replace(bound, **changes), "newer", PATIENCE) is wanted
    assert not replace(bound, **changes).gives_slots


@pytest.mark.row("WC-08", "WC-43", "WC-46")
@pytest.mark.parametrize(
    "changes",
    [
        {"busy": 1},
        {"ready": False},
        {"terminating": True},
        {"view": View.NEW},
        {"view": View.AWAY},
        {"stage": Phase.UNKNOWN},
        {"stage": Phase.BOUND},
        {"claimed_by": "x"},
        {"revision": "old"},
    ],
)
def test_a_claim_may_have_idle_ready_pods_of_the_present_template_only(changes: dict[str, Any]) -> None:
    assert claimable(member(), "new")
    assert not claimable(member(**changes), "new")


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
    assert useless(member(), PATIENCE) is None
