"""Flower behind sentinels: it finds the queues and the workers, and shows no password."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from berthmaster import routing
from tests.support.servers.celery_worker import CeleryProcess
from tests.support.servers.flower import Flower, running
from tests.support.servers.sentinel_group import SentinelGroup
from tests.support.waiting import eventually

PLACES = {"BERTHMASTER_CELERY__TASK_EVENTS": "true", "BERTHMASTER_KUBERNETES__SERVER": "http://127.0.0.1:1"}


@pytest.fixture
def worker(careful: SentinelGroup, tmp_path: Path) -> Iterator[CeleryProcess]:
    made = CeleryProcess("worker", "told", tmp_path, careful.url, PLACES, application="workers.app")
    yield made.start().ready()
    made.kill()


@pytest.fixture
def flower(careful: SentinelGroup, tmp_path: Path) -> Iterator[Flower]:
    with running(careful.url, tmp_path / "flower.log") as found:
        yield found


@pytest.mark.row("EV-17")
def test_queues_and_workers_are_shown_and_no_password(worker: CeleryProcess, flower: Flower) -> None:
    def queues() -> set[str]:
        return {queue["name"] for queue in orjson.loads(flower.get("/api/queues/length")[1])["active_queues"]}

    eventually(lambda: queues() == set(routing.ALL))
    page = eventually(lambda: text if "sentinel_kwargs" in (text := flower.get("/worker/told@test")[1]) else "")
    assert "hidden" in page
    assert [word for word in ("of-sentinels", "of-master") if word in page + flower.get("/broker")[1]] == []
