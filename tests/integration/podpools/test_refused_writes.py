"""A webhook or a quota that refuses to write one pod for good: its pool looks after all the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.claims.labels import GIVEN_BACK, PHASE
from domain.outcome import Outcome
from events.kube_api import Denied, Invalid, KubeError
from tests.integration.podpools.conftest import MakePool
from tests.support.interposed_kube import InterposedKube
from tests.support.pod_pool_world import PodPoolWorld

REFUSALS = [Invalid(422, "Invalid", "a webhook"), Denied(403, "Forbidden", "a webhook")]


def run_refused(pool: PodPoolWorld, pod: str, refusal: KubeError) -> Outcome | None:
    """A run of the pool that may not write that pod."""

    def refuse(_: str) -> None:
        raise refusal

    whole = pool.services
    pool.services = replace(whole, kube=InterposedKube(pool.api, "PATCH", f"/pods/{pod}", refuse, times=100))
    ended = pool.run()
    pool.services = whole
    return ended


@pytest.mark.parametrize("refusal", REFUSALS)
def test_the_other_pods_are_opened_and_the_pool_is_sized(make_pool: MakePool, refusal: KubeError) -> None:
    pool = make_pool(minReplicas=2, maxReplicas=4)
    pool.run()
    pool.kubelet()
    first = min(pool.names())
    run_refused(pool, first, refusal)
    assert pool.views() == ["new", "open"]
    pool.change(minReplicas=3)
    run_refused(pool, first, refusal)
    assert len(pool.names()) == 3
    pool.settle()
    assert pool.views() == ["open"] * 3


@pytest.mark.row("WC-45")
@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("phase", ["Bound", "Draining"])
def test_a_pod_of_nobody_that_may_not_be_given_back_stops_no_other(
    make_pool: MakePool, refusal: KubeError, phase: str
) -> None:
    pool = make_pool(minReplicas=2, maxReplicas=4)
    pool.settle()
    first, second = sorted(pool.names())
    for name in (first, second):
        pool.api.patch(pool.pod_path(name), {"metadata": {"labels": {PHASE: phase}}})
    run_refused(pool, first, refusal)
    assert GIVEN_BACK in pool.api.get(pool.pod_path(second))["metadata"]["annotations"]
