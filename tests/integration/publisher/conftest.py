"""A scripted API server and a worker beside a real Redis."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

from tests.support.publishing import IdleWorker
from tests.support.scripted_watch import ScriptedApi


@pytest.fixture
def api() -> Iterator[ScriptedApi]:
    with ScriptedApi() as api:
        yield api


@pytest.fixture
def worker(redis: Redis) -> IdleWorker:
    return IdleWorker(redis)
