"""What each pod of a pool needs: a table of its states."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.claims.pod import Phase
from domain.pod_pools.pod_steps import (
    LedgerState,
    Member,
    PodStep,
    PodTimeouts,
    claimable,
    next_step,
    removal_reason,
    retirement_reason,
    surplus,
)

TIMEOUTS = PodTimeouts(ready=timedelta(minutes=10))
MINUTE = timedelta(minutes=1)


def member(name: str = "a", **changes: Any) -> Member:
    return replace(Member(name, f"uid-{name}", "new", age=MINUTE, view=LedgerState.OPEN), **changes)


@pytest.mark.row("SL-20", "SL-21", "SL-22", "SD-18", "SD-24", "SD-25", "SD-33")
@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, PodStep.NOTHING),
        ({"busy": 3}, PodStep.NOTHING),
        ({"view": LedgerState.NEW}, PodStep.OPEN),
        ({"view": LedgerState.NEW, "ready": False}, PodStep.NOTHING),
        ({"view": LedgerState.NEW, "ready": False, "age": 11 * MINUTE}, PodStep.RETIRE),
        ({"view": LedgerState.NEW, "ready": False, "age": 11 * MINUTE, "busy": 1}, PodStep.NOTHING),
        ({"view": LedgerState.AWAY, "ready": False, "closed": 10 * MINUTE}, PodStep.NOTHING),
        ({"view": LedgerState.AWAY, "ready": False, "closed": 11 * MINUTE}, PodStep.RETIRE),
        ({"view": LedgerState.AWAY, "ready": True, "closed": 11 * MINUTE}, PodStep.OPEN),
        ({"view": LedgerState.AWAY, "ready": False, "closed": 11 * MINUTE, "busy": 1}, PodStep.NOTHING),
        ({"view": LedgerState.AWAY, "ready": False, "closed": 11 * MINUTE, "cordoned": True}, PodStep.NOTHING),
        ({"view": LedgerState.AWAY, "ready": False, "age": 99 * MINUTE}, PodStep.NOTHING),
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


@pytest.mark.row("SD-33")
def test_pods_that_are_not_ready_are_surplus_first_unless_they_have_jobs_or_are_cordoned() -> None:
    away = {"view": LedgerState.AWAY, "ready": False}
    pods = [
        member("outdated", revision="old"),
        member("away", age=99 * MINUTE, **away),
        member("unready", age=9 * MINUTE, ready=False),
        member("busy", busy=1, **away),
        member("cordoned", cordoned=True, **away),
        member("claimed", claimed_by="x", **away),
        member("ends", terminating=True, **away),
    ]
    assert [pod.name for pod in surplus(pods, 9, "new")] == ["unready", "away", "outdated"]
    assert [pod.category.value for pod in pods[1:4]] == ["away"] * 3
    assert member(view=LedgerState.AWAY).category.value == "booting", "it is ready again, and opens in this run"


views = st.sampled_from(list(LedgerState))
lengths = st.timedeltas(timedelta(0), 30 * MINUTE)
members = st.builds(
    Member,
    name=st.just("a"),
    uid=st.just("u"),
    revision=st.sampled_from(["new", "old"]),
    age=lengths,
    phase=st.just("Running"),
    ready=st.booleans(),
    terminating=st.booleans(),
    view=views,
    busy=st.integers(0, 2),
    silent=st.just(timedelta(0)),
    closed=lengths,
    overdue=lengths,
    stage=st.sampled_from(list(Phase)),
    claimed_by=st.sampled_from(["", "claim"]),
    cordoned=st.booleans(),
)


@pytest.mark.row("SD-31", "SD-33", "SD-01", "SD-02")
@given(st.lists(members, max_size=20), st.integers(0, 30))
def test_no_pod_that_is_busy_reserved_or_claimed_is_surplus(pods: list[Member], count: int) -> None:
    """A reserved slot is busy as well."""
    for pod in surplus(pods, count, "new"):
        assert not pod.busy
        assert not pod.held
        assert pod.view in (LedgerState.OPEN, LedgerState.AWAY)


@pytest.mark.row("SD-33", "SD-01")
@given(members)
def test_no_living_pod_that_is_busy_or_claimed_is_retired_or_replaced(pod: Member) -> None:
    if next_step(pod, "new", TIMEOUTS) in (PodStep.RETIRE, PodStep.REPLACE):
        assert not pod.busy
        assert not pod.held


@pytest.mark.row("KU-12")
def test_a_pod_is_lost_once_it_has_terminated_for_longer_than_its_grace() -> None:
    assert not member(terminating=True).lost
    assert not member(terminating=True, overdue=timedelta(seconds=15)).lost
    assert member(terminating=True, overdue=timedelta(seconds=16)).lost
    assert not member(overdue=MINUTE).lost


def test_the_reason_of_a_removal_is_given() -> None:
    assert removal_reason(member(silent=3 * MINUTE), TIMEOUTS) == "its runner is silent for 3 min"
    assert removal_reason(member(phase="Failed"), TIMEOUTS) == "it has failed"
    assert removal_reason(member(), TIMEOUTS) is None
    away = member(view=LedgerState.AWAY, ready=False, closed=11 * MINUTE)
    assert retirement_reason(away, TIMEOUTS) == "it has not been ready for 11 min"
    new = member(view=LedgerState.NEW, ready=False, age=11 * MINUTE)
    assert retirement_reason(new, TIMEOUTS) == "it was not ready within 10 min"
    assert retirement_reason(member(), TIMEOUTS) is None
