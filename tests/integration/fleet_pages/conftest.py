"""One Flower for the tests of a module: it starts slowly, and survives that its Redis is emptied."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

from compose.sandbox.redis_server import RedisServer
from tests.support.servers.flower import VIEWER, Flower, running
from tests.support.servers.shown_fleet import ShownFleet


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A module's own: one test ends it and starts it again."""
    server = RedisServer(tmp_path_factory.mktemp("redis"), appendonly=False).start()
    yield server
    server.kill()


@pytest.fixture(scope="module")
def flower(redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flower]:
    """Everybody but the user `VIEWER` may decide."""
    log = tmp_path_factory.mktemp("flower") / "flower.log"
    with running(redis_server.url, log, BERTHMASTER_FLOWER__DECIDERS=f"ops,not-{VIEWER}") as server:
        yield server


@pytest.fixture
def shown(redis: Redis) -> ShownFleet:
    return ShownFleet(redis)
