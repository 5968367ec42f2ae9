"""A pod pool whose books are counted again after each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

from tests.support.jobs.slot_recount import faults
from tests.support.jobs.slot_world import SlotWorld


@pytest.fixture
def world(redis: Redis) -> Iterator[SlotWorld]:
    made = SlotWorld(redis)
    yield made
    assert faults(made) == []
