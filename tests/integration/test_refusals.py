"""Redis answers "not now" to every process at once, and afterwards each goes on where it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from compose.sandbox.redis_server import RedisServer
from events.settings import ProcessSettings
from tests.integration.runner.conftest import RunnerPool
from tests.integration.worker.fleet import Fleet
from tests.support.celery_worker import CeleryProcess
from tests.support.pods import pod
from tests.support.publishing import PublisherProcess, settings
from tests.support.refusing import PLAYED, REAL, RefusingProxy, demoted
from tests.support.scripted_watch import PODS, ScriptedApi
from tests.support.waiting import eventually


class System:
    """A process of each kind behind one proxy: publisher, beat, workers of both pools, a runner."""

    def __init__(self, directory: Path, server: RedisServer, api: ScriptedApi) -> None:
        self.directory, self.server, self.api = directory, server, api
        self.proxy = RefusingProxy(server.port)
        self.publisher = PublisherProcess(self.publisher_settings(), directory / "publisher.log")
        self.fleet = Fleet(directory, server, self.proxy.url)
        self.fleet.beats.append(self.fleet.process("beat", "beat", {}))
        for pool in ("threads", "prefork"):
            self.fleet.add_worker(BERTHMASTER_CELERY__POOL=pool, BERTHMASTER_CELERY__CONCURRENCY="2")
        self.runners = RunnerPool(directory, self.fleet.redis, self.proxy.url)
        self.runner = self.runners.start("r")
        self.pods = 0

    def publisher_settings(self) -> ProcessSettings:
        return settings(self.api.url, self.proxy.url)

    def start(self) -> System:
        self.publisher.wait_for("lists_stamped")
        self.runners.ledger.begin([])
        for process in [*self.fleet.beats, *self.fleet.workers]:
            process.ready()
        self.runners.ready("r")
        return self

    def end(self) -> None:
        for process in self.celery:
            process.kill()
        self.publisher.__exit__()

        self.proxy.close()

    @property
    def celery(self) -> list[CeleryProcess]:
        return [*self.fleet.workers, *self.fleet.beats, self.runner]

    def spell(self, of: AbstractContextManager[None]) -> None:
        """Whatever happens in it is done afterwards."""
        self.pods += 1
        name = f"p{self.pods}"
        with of:
            self.api.world.put(PODS, pod(name))
            import time

            time.sleep(1.5)
        eventually(lambda: self.fleet.diary(f"pod/games/{name}", "ended"), 40)
        assert all(process.running() for process in self.celery)
        assert self.publisher.process.poll() is None


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    directory = tmp_path_factory.mktemp("refusals")
    server = RedisServer(directory / "redis").start()
    with ScriptedApi() as api:
        made = System(directory, server, api)
        try:
            yield made.start()
        finally:
            made.end()
            server.kill()


def test_x(system: System) -> None:
    system.runners.submit("long", "apart", seconds=20)
    system.runners.reaches("long", "running")
    for name, way in REAL.items():
        print("==", name)
        system.spell(way(system.server))
    for answer in PLAYED.values():
        print("==", answer)
        system.spell(system.proxy.refusing(answer))
    system.runners.reaches("long", "done", 60)
    assert system.runners.record("long").outcome == "succeeded"
    system.spell(demoted(system.server))
