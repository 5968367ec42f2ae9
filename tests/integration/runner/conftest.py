"""Runner processes on a Redis of the test's own, and the worker's side of their pool."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from redis import Redis

from berthmaster.jobs.dispatch import Dispatcher
from berthmaster.jobs.job import Job, JobRecord
from berthmaster.jobs.messages import Body, JobSender
from berthmaster.jobs.scripts import load_scripts
from berthmaster.jobs.slot_ledger import SlotLedger
from tests.support.servers.celery_worker import CeleryProcess
from tests.support.waiting import eventually
from workers.stores.slots.preload import preload

POOL = "ci/runners"
DIARY = "runner:diary"
SLOTS = ((), ("plan",), ("plan",))


class RunnerPool:
    """The ledger, clients and the opening of pods that have reported; Kubernetes is not in it."""

    def __init__(self, directory: Path, redis: Redis, url: str) -> None:
        self.directory, self.redis, self.url = directory, redis, url
        self.ledger = SlotLedger(redis, load_scripts(redis), POOL)
        self.dispatcher = Dispatcher(self.ledger, JobSender(url, POOL))
        self.runners: dict[str, CeleryProcess] = {}
        self.ledger.begin([])
        assert preload(self.ledger) == ""

    def settings(self, pod: str, slots: Any = SLOTS) -> dict[str, str]:
        """The environment of the pod's container."""
        return {
            "BERTHMASTER_RUNNER__POOL": POOL,
            "BERTHMASTER_RUNNER__POD": pod,
            "BERTHMASTER_RUNNER__UID": f"uid-{pod}",
            "BERTHMASTER_RUNNER__SLOTS": orjson.dumps(slots).decode(),
            "BERTHMASTER_RUNNER__REDIS__URL": self.url,
            "BERTHMASTER_RUNNER__HEARTBEAT": "300ms",
            "BERTHMASTER_RUNNER__SPOOL": str(self.directory / f"spool-{pod}"),
            "PYTHONPATH": ":".join(sys.path),
        }

    def start(self, pod: str, pool: str = "prefork", slots: Any = SLOTS, **more: str) -> CeleryProcess:
        environment = self.settings(pod, slots) | more
        options = ("--pool", pool, "--loglevel", "INFO")
        runner = CeleryProcess(
            "worker", pod, self.directory, self.url, environment, options, "tests.support.jobs.runner_app"
        ).start()
        self.runners[pod] = runner
        return runner

    def ready(self, pod: str) -> None:
        """Its first reports have come, and it is opened."""
        eventually(lambda: self.runners[pod].running() and self.open(pod), 60)

    def open(self, pod: str) -> bool:
        placed = self.ledger.open(f"uid-{pod}")
        self.dispatcher.dispatch(placed or ())
        return placed is not None

    def submit(
        self,
        job: str,
        task: str = "work",
        phases: tuple[str, ...] = ("plan",),
        run_ms: int | None = None,
        **kwargs: Any,
    ) -> JobRecord:
        body = Body(task=task, kwargs=kwargs).encoded()
        record, placed = self.ledger.submit(Job(job, phases, body=body, run_ms=run_ms))
        self.dispatcher.dispatch(placed)
        return record

    def record(self, job: str) -> JobRecord:
        record = self.ledger.record(job)
        assert record, job
        return record

    def sweep(self) -> None:
        self.dispatcher.dispatch(self.ledger.sweep(timedelta(days=1)).placed)

    def reaches(self, job: str, state: str, timeout: float = 30) -> JobRecord:
        eventually(lambda: self.record(job).state == state, timeout)
        return self.record(job)

    def diary(self) -> list[str]:
        lines: Any = self.redis.lrange(DIARY, 0, -1)
        return [line.decode() for line in lines]


@pytest.fixture
def pool(tmp_path: Path, redis: Redis, redis_url: str) -> Iterator[RunnerPool]:
    made = RunnerPool(tmp_path, redis, redis_url)
    yield made
    for runner in made.runners.values():
        runner.kill()
        print(runner.name, runner.tail())  # noqa: T201 - shown when the test fails
