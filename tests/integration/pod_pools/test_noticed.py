"""Which claimed pods a run of a pool compares with the index of claims: counts, because times depend on the machine."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.integration.pod_pools.conftest import MakePool
from tests.integration.pod_pools.test_requests import remembered, tell, warm
from tests.support.claims.claimant import Claimant
from tests.support.pods.pod_pool_world import PodPoolWorld


def comparisons(pool: PodPoolWorld) -> int:
    """How many claimed pods runs have compared with the index of claims so far."""
    stats: Any = pool.redis.info("commandstats")
    return int(stats.get("cmdstat_hsetnx", {"calls": 0})["calls"])


@pytest.mark.row("WC-50")
def test_a_run_compares_only_changed_pods_with_what_their_claims_know_and_all_after_a_list(
    make_pool: MakePool,
) -> None:
    pool = make_pool(maxIdle=6, maxReplicas=6, slots=[], protectWhileBusy=False)
    warm(pool)
    remembered(pool)
    claimants = [Claimant(pool, f"claim-{number}") for number in range(4)]
    assert all(claimant.take() for claimant in claimants)
    for claimant in claimants:
        tell(pool, claimant.pod)
    counts = [comparisons(pool)]
    nothing: Callable[[], Any] = lambda: None  # noqa: E731 - one of several steps
    steps = (nothing, nothing, lambda: touch(claimants[0]), pool.services.pod_cache.changes.count_list)
    for step in steps:
        step()
        pool.run()
        counts.append(comparisons(pool))
    assert [later - earlier for earlier, later in pairwise(counts)] == [4, 0, 1, 4]


def touch(claimant: Claimant) -> None:
    """Give the pod of a claim a new version, which the publisher tells."""
    assert claimant.write({}, {"example.com/changed": "now"})
    tell(claimant.pool, claimant.pod)
