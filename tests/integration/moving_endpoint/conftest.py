"""One pair of servers for each test: each test breaks it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers.moving_endpoint import MovingEndpoint


@pytest.fixture
def moving(tmp_path: Path) -> Iterator[MovingEndpoint]:
    made = MovingEndpoint(tmp_path / "pair").start()
    yield made
    made.stop()
