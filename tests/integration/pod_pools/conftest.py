"""Pod pools on each Kubernetes server; the slots are counted again after each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis

from tests.fixtures.kube import Kube
from tests.support.jobs.slot_recount import faults
from tests.support.pods.pod_pool_world import PodPoolWorld
from tests.support.pods.token_world import TOKEN_SPEC, TokenWorld

MakePool = Callable[..., PodPoolWorld]
MakeTokens = Callable[..., TokenWorld]


@pytest.fixture
def make_pool(redis: Redis, kube: Kube, crds: None) -> Iterator[MakePool]:
    pools: list[PodPoolWorld] = []

    def make(**spec: Any) -> PodPoolWorld:
        pools.append(PodPoolWorld(redis, kube.api, kube.namespace, **spec))
        return pools[-1]

    yield make
    assert [fault for world in pools for fault in faults(world.slots)] == []


@pytest.fixture
def make_tokens(make_pool: MakePool) -> Iterator[MakeTokens]:
    """Pools with a runner token, whose users in Redis end with the test."""
    worlds: list[TokenWorld] = []

    def make(**spec: Any) -> TokenWorld:
        worlds.append(TokenWorld(make_pool(**{"minReplicas": 1, "maxReplicas": 3, "runnerToken": TOKEN_SPEC} | spec)))
        return worlds[-1]

    yield make
    for world in worlds:
        world.lose_user()
