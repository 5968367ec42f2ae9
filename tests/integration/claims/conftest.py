"""Claims on each Kubernetes server."""

from __future__ import annotations

import pytest
from redis import Redis

from tests.fixtures.kube import Kube
from tests.support.claims.claim_world import ClaimWorld


@pytest.fixture
def world(redis: Redis, kube: Kube, crds: None) -> ClaimWorld:
    """With one pool, `warm`, that has no pods yet."""
    harness = ClaimWorld(redis, kube.api, kube.namespace)
    harness.pool()
    return harness
