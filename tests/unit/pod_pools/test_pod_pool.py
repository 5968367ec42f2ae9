"""What a PodPool may declare."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from berthmaster.jobs.job import PoolLimits
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.spec_errors import spec_problem

Json = dict[str, Any]
TEMPLATE: Json = {"template": {"spec": {"containers": [{"name": "runner", "image": "runner"}]}}}


@pytest.mark.row("SL-01", "SL-02")
def test_without_a_word_a_pod_has_one_slot_for_any_job_and_two_for_plans() -> None:
    spec = PodPoolSpec.model_validate(TEMPLATE)
    assert spec.layout == (None, frozenset({"plan"}), frozenset({"plan"}))
    assert spec.limits == PoolLimits(timedelta(hours=24))


@pytest.mark.row("SD-34")
def test_jobs_have_the_time_limits_that_their_pool_says() -> None:
    spec = PodPoolSpec.model_validate(TEMPLATE | {"queueTimeout": "1s", "runTimeout": "8760h", "reservationTTL": "0s"})
    assert spec.limits == PoolLimits(timedelta(0), timedelta(seconds=1), timedelta(hours=8760))


@pytest.mark.row("SL-01")
def test_slots_are_what_the_pool_says() -> None:
    spec = PodPoolSpec.model_validate(TEMPLATE | {"slots": [{}, {"accepts": ["plan", "lint"]}]})
    assert spec.policy.slots == (None, frozenset({"plan", "lint"}))


@pytest.mark.row("SD-06")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"minReplicas": 11}, "minReplicas must not be more than maxReplicas"),
        ({"maxIdle": 11}, "maxIdle must not be more than maxReplicas"),
        ({"scaling": {"upAbove": 0.2}}, "scaling.downBelow must be less than scaling.upAbove"),
        ({"maxReplicas": 0}, "spec.maxReplicas: Input should be greater than or equal to 1"),
        ({"slots": [{"accepts": ["Plan"]}]}, "spec.slots.0.accepts.0: must be a name of up to 63 lower-case letters"),
        ({"slots": [{"accepts": ["plan", "plan"]}]}, "spec.slots.0.accepts: Duplicate value: plan"),
        ({"runTimeout": "soon"}, "spec.runTimeout: must be a length of time, such as 90s"),
        ({"runTimeout": "0s"}, "runTimeout must be from 1s to 8760h"),
        ({"queueTimeout": "8761h"}, "queueTimeout must be from 1s to 8760h"),
        ({"reservationTTL": "soon"}, "spec.reservationTTL: must be a length of time, such as 90s"),
        ({"recycle": "burn"}, "spec.recycle: Input should be 'reuse' or 'delete'"),
        ({"replicas": 3}, "spec.replicas: Extra inputs are not permitted"),
        ({"template": None}, "spec.template: Input should be a valid dictionary"),
    ],
)
def test_a_faulty_pool_is_refused_with_the_field_named(changes: Json, words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        PodPoolSpec.model_validate(TEMPLATE | changes)
    assert words in spec_problem(refused.value)
