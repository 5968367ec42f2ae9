"""Pod pools on each Kubernetes server; the slots are counted again after each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis

from tests.fixtures.kube import Kube
from tests.support.jobs.slot_recount import faults
from tests.support.pods.pod_pool_world import PodPoolWorld

MakePool = Callable[..., PodPoolWorld]


@pytest.fixture
def make_pool(redis: Redis, kube: Kube, crds: None) -> Iterator[MakePool]:
    pools: list[PodPoolWorld] = []

    def make(**spec: Any) -> PodPoolWorld:
        pools.append(PodPoolWorld(redis, kube.api, kube.namespace, **spec))
        return pools[-1]

    yield make
    assert [fault for world in pools for fault in faults(world.slots)] == []
