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
    made: list[PodPoolWorld] = []

    def make(**spec: Any) -> PodPoolWorld:
        made.append(PodPoolWorld(redis, kube.api, kube.namespace, **spec))
        return made[-1]

    yield make
    assert [fault for world in made for fault in faults(world.slots)] == []
