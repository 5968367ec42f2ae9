"""When a pod is protected from others, and which annotations are ours."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.claims.pod import Phase
from domain.kubernetes.names import DO_NOT_DISRUPT, PROTECTED, PROTECTED_BY, SAFE_TO_EVICT
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.pod_steps import LedgerState, Member, PodStep, PodTimeouts, next_step
from domain.pod_pools.protection import HONOURED, ProtectionChange, budget_spec, exposure, protection

MINUTE = timedelta(minutes=1)
REST = 5 * MINUTE
KEYS = (SAFE_TO_EVICT, DO_NOT_DISRUPT, "example.com/other")
ANNOTATIONS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["true", "false", ""]))


def step_of(rest: timedelta | None = REST, **changes: Any) -> PodStep:
    member = Member("a", "uid-a", "new", age=MINUTE, **{"view": LedgerState.OPEN, **changes})
    return next_step(member, "new", PodTimeouts(ready=10 * MINUTE, rest=rest))


def after(annotations: dict[str, str], change: ProtectionChange) -> dict[str, str]:
    """What a merge patch leaves."""
    return {key: value for key, value in (annotations | change.annotations).items() if value is not None}


@pytest.mark.row("KU-14")
@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, PodStep.NOTHING),
        ({"busy": 1}, PodStep.PROTECT),
        ({"busy": 1, "protected": True}, PodStep.NOTHING),
        ({"busy": 1, "protected": True, "resting": 9 * MINUTE}, PodStep.NOTHING),
        ({"busy": 1, "view": LedgerState.AWAY, "ready": False}, PodStep.PROTECT),
        ({"busy": 1, "ready": False}, PodStep.QUARANTINE),
        ({"busy": 1, "terminating": True, "view": LedgerState.ENDING}, PodStep.NOTHING),
        ({"protected": True, "terminating": True, "view": LedgerState.ENDING}, PodStep.NOTHING),
        ({"protected": True}, PodStep.NOTHING),
        ({"protected": True, "resting": 4 * MINUTE}, PodStep.NOTHING),
        ({"protected": True, "resting": 5 * MINUTE}, PodStep.EXPOSE),
        ({"protected": True, "cordoned": True, "ready": False, "view": LedgerState.AWAY}, PodStep.EXPOSE),
        ({"protected": True, "resting": 9 * MINUTE, "view": LedgerState.UNKNOWN}, PodStep.NOTHING),
        ({"protected": True, "resting": 9 * MINUTE, "view": LedgerState.UNKNOWN, "opened": False}, PodStep.EXPOSE),
    ],
)
def test_a_pod_of_jobs_is_protected_at_once_and_exposed_late(changes: dict[str, Any], wanted: PodStep) -> None:
    assert step_of(**changes) is wanted


@pytest.mark.row("KU-14")
def test_nobody_rests_of_whom_nobody_knows_what_runs_there() -> None:
    """After a loss of Redis: else the protection would go before the runner has reported its jobs."""
    member = Member("a", "uid-a", "new", age=MINUTE, protected=True)
    assert not member.rests
    assert Member("a", "uid-a", "new", age=MINUTE, protected=True, view=LedgerState.OPEN).rests


@pytest.mark.row("KU-14")
def test_a_cordoned_pod_whose_drain_waits_lets_its_node_be_emptied() -> None:
    drains: dict[str, Any] = {"stage": Phase.DRAINING, "view": LedgerState.CLAIMED, "protected": True}
    assert step_of(**drains) is PodStep.NOTHING
    assert step_of(**drains, cordoned=True, ready=False) is PodStep.EXPOSE


@pytest.mark.row("KU-14")
@pytest.mark.parametrize(
    ("stage", "claimed_by", "wanted"),
    [
        (Phase.BOUND, "uid-c", PodStep.PROTECT),
        (Phase.DRAINING, "", PodStep.PROTECT),
        (Phase.IDLE, "", PodStep.NOTHING),
        (Phase.UNKNOWN, "", PodStep.OPEN),
    ],
)
def test_a_pod_is_protected_from_its_claim_to_the_end_of_its_drain(
    stage: Phase, claimed_by: str, wanted: PodStep
) -> None:
    view = LedgerState.CLAIMED if stage in (Phase.BOUND, Phase.DRAINING) else LedgerState.OPEN
    assert step_of(stage=stage, claimed_by=claimed_by, token=claimed_by, view=view) is wanted
    if wanted is PodStep.PROTECT:
        held: dict[str, Any] = {
            "stage": stage,
            "claimed_by": claimed_by,
            "token": claimed_by,
            "view": view,
            "protected": True,
        }
        assert step_of(**held, resting=9 * MINUTE) is PodStep.NOTHING


@pytest.mark.row("KU-14")
def test_a_pool_that_protects_none_exposes_all_at_once() -> None:
    assert step_of(None, busy=1) is PodStep.NOTHING
    assert step_of(None, busy=1, protected=True) is PodStep.EXPOSE
    assert step_of(None, protected=True) is PodStep.EXPOSE


@pytest.mark.row("KU-14")
@given(own=ANNOTATIONS, others=st.sets(st.sampled_from(KEYS)))
def test_what_a_pod_has_from_elsewhere_stays_while_it_is_protected_and_afterwards(
    own: dict[str, str], others: set[str]
) -> None:
    guarded = after(own, protection(own, others))
    assert own.items() <= guarded.items()
    assert all(guarded.get(key) == own.get(key, value) for key, value in HONOURED.items() if key not in others)
    assert after(guarded, protection(guarded, others)) == guarded
    assert after(guarded, exposure(guarded)) == own


@pytest.mark.row("KU-14")
def test_what_somebody_changes_meanwhile_is_not_ours_any_more() -> None:
    changed = after({}, protection({})) | {SAFE_TO_EVICT: "true"}
    assert after(changed, protection(changed))[PROTECTED_BY] == DO_NOT_DISRUPT
    assert after(changed, exposure(changed)) == {SAFE_TO_EVICT: "true"}


@pytest.mark.row("KU-14")
@given(record=st.text(max_size=200), own=ANNOTATIONS)
def test_a_record_that_somebody_else_has_written_takes_no_other_annotation(record: str, own: dict[str, str]) -> None:
    annotations = own | {PROTECTED_BY: record, "example.com/kept": "1"}
    for change in (protection(annotations), exposure(annotations)):
        assert change.annotations.keys() <= {*HONOURED, PROTECTED_BY}
        assert after(annotations, change)["example.com/kept"] == "1"
    assert exposure(annotations).labels == {PROTECTED: None}


@pytest.mark.row("KU-14")
def test_the_budget_needs_nothing_of_the_pods_controller() -> None:
    """With `maxUnavailable`, or a share, Kubernetes asks the pool's scale how many pods there should be."""
    spec = budget_spec("runners")
    assert (spec["minAvailable"], "maxUnavailable" in spec) == (2**31 - 1, False)


@pytest.mark.row("KU-14")
def test_pools_protect_unless_they_say_otherwise() -> None:
    template = {"spec": {"containers": [{"name": "a", "image": "a"}]}}
    spec = PodPoolSpec.model_validate({"template": template, "scaling": {"downCooldown": "7m"}})
    assert spec.rest == 7 * MINUTE
    off = PodPoolSpec.model_validate({"template": template, "protectWhileBusy": False})
    assert off.rest is None
