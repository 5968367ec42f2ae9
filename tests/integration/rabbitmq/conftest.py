"""Two workers and a beat whose broker is a RabbitMQ, and a Redis for the state: one of each for the module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from berthmaster import routing
from berthmaster.broker.sending import Sender
from compose.sandbox.redis_server import RedisServer
from events.workqueue import Workqueue
from tests.integration.worker.fleet import IMPATIENT, Fleet
from tests.support.servers.celery_worker import CeleryProcess
from tests.support.servers.rabbitmq import RabbitMq

APPLICATION: Final = "tests.integration.rabbitmq.celery_app"


class OnRabbit(Fleet):
    """The state is in Redis; hints, ticks and what clients ask for go through RabbitMQ."""

    def __init__(self, directory: Path, server: RedisServer, rabbit: RabbitMq) -> None:
        super().__init__(directory, server)
        self.rabbit, self.sender = rabbit, Sender(rabbit.url)
        self.queue = Workqueue(self.redis, publish=self.sender.hints)

    def process(self, kind: str, name: str, environment: dict[str, str]) -> CeleryProcess:
        own = {
            "BERTHMASTER_BROKER__URL": self.rabbit.url,
            "BERTHMASTER_KUBERNETES__SERVER": "http://127.0.0.1:1",
            **IMPATIENT,
            **environment,
        }
        return CeleryProcess(kind, name, self.directory, self.url, own, application=APPLICATION).start()

    def all_acknowledged(self) -> bool:
        """Every queue exists, and no message in it waits for a worker."""
        return all(self.rabbit.waiting(queue) == 0 for queue in routing.ALL)

    def well(self) -> bool:
        return all(process.running() for process in [*self.workers, *self.beats])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    made = RedisServer(tmp_path_factory.mktemp("state"), appendonly=False).start()
    yield made
    made.kill()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory, server: RedisServer, rabbit: RabbitMq) -> Iterator[OnRabbit]:
    made = OnRabbit(tmp_path_factory.mktemp("fleet"), server, rabbit)
    try:
        yield made.start(workers=2, BERTHMASTER_CELERY__TASK_EVENTS="true")  # type: ignore[misc]  # it returns itself
    finally:
        made.end()
