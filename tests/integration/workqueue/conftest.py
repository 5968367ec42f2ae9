"""Worlds: every rule holds whether the broker is in the same Redis or not."""

from __future__ import annotations

import pytest
from redis import Redis

from tests.integration.workqueue.brokers import Elsewhere, Here
from tests.integration.workqueue.world import World


@pytest.fixture(params=[Here, Elsewhere], ids=["broker here", "broker elsewhere"])
def world(request: pytest.FixtureRequest, redis: Redis) -> World:
    return World(request.param(redis))


@pytest.fixture
def apart(redis: Redis) -> World:
    """With a broker that may be away."""
    return World(Elsewhere(redis))
