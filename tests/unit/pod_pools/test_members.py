"""What each pod of a pool needs: a table of its states."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from domain.claims.pod import Phase
from domain.pod_pools.pod_steps import (
    LedgerState,
    Member,
    PodStep,
    PodTimeouts,
    claimable,
    next_step,
    removal_reason,
    surplus,
)

TIMEOUTS = PodTimeouts(ready=timedelta(minutes=10))
MINUTE = timedelta(minutes=1)


def member(name: str = "a", **changes: Any) -> Member:
    return replace(Member(name, f"uid-{name}", "new", age=MINUTE, view=LedgerState.OPEN), **changes)


@pytest.mark.row("SL-20", "SL-21", "SL-22", "SD-18", "SD-24", "SD-25")
@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, PodStep.NOTHING),
        ({"busy": 3}, PodStep.NOTHING),
        ({"view": LedgerState.NEW}, PodStep.OPEN),
        ({"view": LedgerState.NEW, "ready": False}, PodStep.NOTHING),
        ({"view": LedgerState.AWAY}, PodStep.OPEN),
        ({"ready": False}, PodStep.QUARANTINE),
        ({"ready": False, "busy": 1}, PodStep.QUARANTINE),
        ({"terminating": True}, PodStep.END),
        ({"terminating": True, "view": LedgerState.ENDING}, PodStep.NOTHING),
        ({"terminating": True, "view": LedgerState.UNKNOWN}, PodStep.NOTHING),
        ({"view": LedgerState.ENDING}, PodStep.REMOVE),
        ({"phase": "Failed"}, PodStep.REMOVE),
        ({"phase": "Succeeded", "busy": 1}, PodStep.REMOVE),
        ({"silent": 3 * MINUTE, "busy": 1}, PodStep.REMOVE),
        ({"silent": 2 * MINUTE, "busy": 1}, PodStep.NOTHING),
        ({"view": LedgerState.UNKNOWN, "ready": False}, PodStep.NOTHING),
        ({"view": LedgerState.UNKNOWN, "age": 11 * MINUTE}, PodStep.REMOVE),
        ({"view": LedgerState.FENCED}, PodStep.LIFT),
        ({"view": LedgerState.CLAIMED}, PodStep.NOTHING),
        ({"view": LedgerState.CLAIMED, "closed": MINUTE}, PodStep.LIFT),
        ({"cordoned": True, "ready": False}, PodStep.QUARANTINE),
        ({"view": LedgerState.UNKNOWN, "cordoned": True, "ready": False, "age": 11 * MINUTE}, PodStep.NOTHING),
        ({"view": LedgerState.UNKNOWN, "runner": False}, PodStep.REGISTER),
        ({"view": LedgerState.UNKNOWN, "runner": False, "ready": False}, PodStep.NOTHING),
        ({"runner": False, "silent": 3 * MINUTE}, PodStep.NOTHING),
        ({"stage": Phase.UNKNOWN}, PodStep.OPEN),
        ({"view": LedgerState.CLAIMED, "revision": "old"}, PodStep.NOTHING),
        ({"revision": "old"}, PodStep.REPLACE),
        ({"revision": "old", "busy": 1}, PodStep.NOTHING),
    ],
)
def test_each_state_of_a_pod_has_its_step(changes: dict[str, Any], wanted: PodStep) -> None:
    assert next_step(member(**changes), "new", TIMEOUTS) is wanted


@pytest.mark.row("WC-02", "WC-38")
@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, PodStep.HOLD),
        ({"view": LedgerState.NEW}, PodStep.HOLD),
        ({"view": LedgerState.FENCED, "token": "a run"}, PodStep.HOLD),
        ({"view": LedgerState.ENDING}, PodStep.HOLD),
        ({"view": LedgerState.CLAIMED, "token": "another"}, PodStep.HOLD),
        ({"view": LedgerState.CLAIMED, "token": "mine"}, PodStep.NOTHING),
        ({"view": LedgerState.CLAIMED, "token": "mine", "closed": MINUTE, "silent": 3 * MINUTE}, PodStep.NOTHING),
        ({"view": LedgerState.CLAIMED, "token": "mine", "phase": "Failed"}, PodStep.NOTHING),
        ({"busy": 1}, PodStep.QUARANTINE),
        ({"busy": 1, "view": LedgerState.AWAY}, PodStep.NOTHING),
        ({"view": LedgerState.UNKNOWN}, PodStep.NOTHING),
        ({"view": LedgerState.UNKNOWN, "runner": False}, PodStep.REGISTER),
        ({"view": LedgerState.UNKNOWN, "age": 11 * MINUTE}, PodStep.REGISTER),
        ({"stage": Phase.TERMINATING, "claimed_by": ""}, PodStep.REMOVE),
        (
            {"stage": Phase.DRAINING, "claimed_by": "", "view": LedgerState.CLAIMED, "token": "its claim"},
            PodStep.NOTHING,
        ),
        ({"terminating": True}, PodStep.END),
    ],
)
def test_a_pod_that_a_claim_has_or_had_is_closed_and_stays(changes: dict[str, Any], wanted: PodStep) -> None:
    bound = member(stage=Phase.BOUND, claimed_by="mine")
    assert next_step(replace(bound, **changes), "newer", TIMEOUTS) is wanted
    assert not replace(bound, **changes).gives_slots


@pytest.mark.row("WC-08", "WC-43", "WC-46")
@pytest.mark.parametrize(
    "changes",
    [
        {"busy": 1},
        {"ready": False},
        {"terminating": True},
        {"view": LedgerState.NEW},
        {"view": LedgerState.AWAY},
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
        member("fenced", view=LedgerState.FENCED),
    ]
    assert [pod.name for pod in surplus(pods, 2, "new")] == ["outdated", "young"]
    assert len(surplus(pods, 9, "new")) == 3
    assert surplus(pods, -1, "new") == (), "a pool that grows has none"


def test_the_reason_of_a_removal_is_given() -> None:
    assert removal_reason(member(silent=3 * MINUTE), TIMEOUTS) == "its runner is silent for 0:03:00"
    assert removal_reason(member(phase="Failed"), TIMEOUTS) == "it has failed"
    assert removal_reason(member(), TIMEOUTS) is None
