"""Claims on each Kubernetes server."""

from __future__ import annotations

from datetime import timedelta

import pytest
from redis import Redis

from berthmaster.broker.sending import Sender
from berthmaster.claims.answers import ClaimAnswers
from berthmaster.claims.client import ClaimClient
from tests.fixtures.kube import Kube
from tests.support.claims.claim_world import ClaimWorld

OFTEN = timedelta(milliseconds=100)


@pytest.fixture
def world(redis: Redis, kube: Kube, crds: None) -> ClaimWorld:
    """With one pool, `warm`, that has no pods yet."""
    harness = ClaimWorld(redis, kube.api, kube.namespace)
    harness.pool()
    return harness


@pytest.fixture
def impatient(redis_url: str, world: ClaimWorld) -> ClaimClient:
    """Asks again after a moment."""
    return ClaimClient(Sender(redis_url), ClaimAnswers(world.redis), OFTEN)
