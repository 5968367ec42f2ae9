"""A pool whose books are counted again after each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis

from tests.support.ports.builders import active_pool
from tests.support.ports.live_pool import LivePool

MakePool = Callable[..., LivePool]


@pytest.fixture
def make_pool(redis: Redis) -> Iterator[MakePool]:
    """active_pool on this test's Redis; what it made must add up when the test ends."""
    made: list[LivePool] = []

    def make(**options: Any) -> LivePool:
        made.append(active_pool(redis, **options))
        return made[-1]

    yield make
    assert [fault for pool in made for fault in pool.faults()] == []


@pytest.fixture
def pool(make_pool: MakePool) -> LivePool:
    """Active, ports 30000 to 30999, one load balancer of 50 listeners."""
    return make_pool()


@pytest.fixture
def empty(make_pool: MakePool) -> LivePool:
    """A pool without a load balancer."""
    return make_pool(lbs=[])
