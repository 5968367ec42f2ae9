"""A pool that has changed since the publisher sent it."""

from __future__ import annotations

import pytest

from berthmaster.routing import split_key
from events.workqueue.entries import as_mark
from tests.integration.pod_pools.conftest import MakePool
from tests.support.pods.pod_pool_world import PodPoolWorld
from workers.kube.pod_pools import PodPools


def publish(world: PodPoolWorld) -> None:
    """What the publisher does of a pool as it is now."""
    _, namespace, name = split_key(world.key)
    pool = PodPools(world.api).read(namespace, name)
    assert pool
    assert world.queue.marks("1:test", [as_mark(world.key, pool)]) != [-1]


@pytest.mark.row("EV-03", "SD-06")
def test_a_pool_whose_change_was_never_published_is_sized_as_it_is_now(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1)
    publish(pool)
    pool.change(minReplicas=2)
    pool.run()
    assert len(pool.pods()) == 2
    assert pool.status()["desiredReplicas"] == 2
