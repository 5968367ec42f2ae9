"""Two workers and a beat, started once for the tests that break none of them; a Redis and a fleet of its own for the
rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from compose.sandbox.redis_server import RedisServer
from tests.integration.worker.fleet import Fleet

numbers = count()


@pytest.fixture(scope="package")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    directory = tmp_path_factory.mktemp("fleet")
    server = RedisServer(directory / "redis").start()
    fleet = Fleet(directory, server)
    try:
        yield fleet.start(workers=2)
    finally:
        fleet.stop()
        server.kill()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path / "redis").start()
    yield server
    server.kill()


@pytest.fixture
def make_fleet(tmp_path: Path, server: RedisServer) -> Iterator[Callable[..., Fleet]]:
    """Makes a fleet without processes; whatever it starts is ended."""
    made: list[Fleet] = []

    def make(url: str | None = None) -> Fleet:
        made.append(Fleet(tmp_path, server, url))
        return made[-1]

    yield make
    for fleet in made:
        fleet.end()


@pytest.fixture
def pod() -> str:
    """The key of a pod that no other test has."""
    return f"pod/probe-{next(numbers)}/p"
