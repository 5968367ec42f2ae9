"""Groups of servers with sentinels: one for tests that may move its master, one for each test that breaks it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers.sentinel_group import SentinelGroup


@pytest.fixture(scope="package")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SentinelGroup]:
    """Whole, and without passwords. Its master may be any of its members."""
    group = SentinelGroup(tmp_path_factory.mktemp("shared"))
    yield group.start()
    group.stop()


@pytest.fixture
def group(tmp_path: Path) -> Iterator[SentinelGroup]:
    made = SentinelGroup(tmp_path / "group")
    yield made.start()
    made.stop()


@pytest.fixture
def careful(tmp_path: Path) -> Iterator[SentinelGroup]:
    """Its master takes no writes that no replica would have; each asks for a password."""
    made = SentinelGroup(tmp_path / "careful", password="of-master;@/", theirs="of-sentinels&=", writes_to=1)
    yield made.start()
    made.stop()
