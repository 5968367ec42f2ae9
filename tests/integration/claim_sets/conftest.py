"""Sets of claims on each Kubernetes server."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from redis import Redis

from tests.fixtures.kube import Kube
from tests.support.claims.claim_set_world import ClaimSetWorld

MakeSet = Callable[..., ClaimSetWorld]


@pytest.fixture
def make_set(redis: Redis, kube: Kube, crds: None) -> MakeSet:
    def make(replicas: int = 2) -> ClaimSetWorld:
        return ClaimSetWorld(redis, kube.api, kube.namespace, replicas)

    return make
