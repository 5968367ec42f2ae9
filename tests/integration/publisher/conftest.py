"""A scripted API server and a worker beside a real Redis."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from berthmaster.redis.incarnation import connect
from compose.sandbox.redis_server import RedisServer
from tests.support.servers.publishing import IdleWorker
from tests.support.servers.scripted_watch import ScriptedApi


@pytest.fixture
def api() -> Iterator[ScriptedApi]:
    with ScriptedApi() as api:
        yield api


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis that may be killed, with what it had on disk."""
    server = RedisServer(tmp_path / "redis").start()
    yield server
    server.kill()


@pytest.fixture
def mortal_worker(mortal: RedisServer) -> Iterator[IdleWorker]:
    """Of that Redis; connects again after each restart."""
    client = connect(mortal.url)
    yield IdleWorker(client)
    client.close()


@pytest.fixture
def worker(redis: Redis) -> IdleWorker:
    return IdleWorker(redis)
