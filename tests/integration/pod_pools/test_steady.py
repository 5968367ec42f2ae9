"""A pool that has what it needs stays as it is; one that has too much gives back what is idle, and the rest later."""

from __future__ import annotations

import pytest

from tests.integration.pod_pools.conftest import MakePool
from tests.support.pods.pod_pool_world import PodPoolWorld

TICKS = 40
"""Ten minutes of the autoscaler; each round of the test is two."""


def uids(pool: PodPoolWorld) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pool.pods()}


@pytest.mark.row("SD-17")
@pytest.mark.parametrize("jobs", [1, 7])
def test_under_a_steady_load_no_pod_comes_or_goes(make_pool: MakePool, jobs: int) -> None:
    """Without any cooldown."""
    pool = make_pool(maxReplicas=10)
    for n in range(jobs):
        pool.slots.submit(f"first-{n}")
    pool.settle(6)
    there = uids(pool)
    for tick in range(TICKS // 2):
        pool.finish_all()
        for n in range(jobs):
            pool.slots.submit(f"j{tick}-{n}")
        pool.settle(1)
        assert uids(pool) == there


@pytest.mark.row("SD-03", "SD-01")
def test_with_fewer_idle_pods_than_there_are_too_many_these_go_and_the_status_says_so(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=4, maxReplicas=4)
    pool.settle()
    for n in range(4):
        pool.slots.submit(f"j{n}")
    pool.slots.deliver_all()
    busy = {pod.name for pod in pool.ledger_pods() if pod.busy}
    pool.change(minReplicas=1, maxReplicas=1)
    pool.settle()
    assert pool.names() == busy
    assert len(busy) == 2
    assert (pool.status()["readyReplicas"], pool.status()["desiredReplicas"]) == (2, 1)
    pool.finish_all()
    pool.settle()
    assert len(pool.pods()) == 1
    assert (pool.status()["readyReplicas"], pool.status()["desiredReplicas"]) == (1, 1)
