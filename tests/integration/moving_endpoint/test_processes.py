"""Publisher, worker and runner go on with a promoted replica, and a job whose record was lost ends once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import RedisError

from berthmaster.client import Fleet, Request
from berthmaster.redis.client import connect_state
from berthmaster.redis.outage import OUTAGE
from berthmaster.redis.settings import RedisSettings
from events.workqueue import Refusal
from tests.integration.runner.conftest import DIARY, POOL, RunnerPool
from tests.support.pods.pods import pod
from tests.support.servers.celery_worker import CeleryProcess
from tests.support.servers.moving_endpoint import MovingEndpoint
from tests.support.servers.probe_tasks import DIARY as RUNS
from tests.support.servers.publishing import IdleWorker, PublisherProcess, settings
from tests.support.servers.scripted_watch import PODS, ScriptedApi
from tests.support.waiting import eventually
from workers.stores.slots.preload import preload

A, B, C = (f"pod/games/{name}" for name in "abc")


def ran(redis: Redis, key: str) -> bool:
    with suppress(RedisError):
        return any(key.encode() in line for line in redis.lrange(RUNS, 0, -1))
    return False


@pytest.mark.row("ST-40", "ST-41")
def test_publisher_and_worker_go_on_once_the_old_primary_has_had_its_time(
    moving: MovingEndpoint, tmp_path: Path
) -> None:
    """Rule oldmaster, without Sentinel and without a setting: a promoted server had a primary."""
    with ScriptedApi() as api, connect_state(RedisSettings(url=moving.url)) as redis:
        worker = CeleryProcess("worker", "worker", tmp_path, moving.url, {"BERTHMASTER_KUBERNETES__SERVER": api.url})
        with PublisherProcess(settings(api.url, moving.url), tmp_path / "first") as first:
            first.wait_for("lists_stamped")
        with PublisherProcess(settings(api.url, moving.url, wait=None), tmp_path / "publisher") as publisher:
            try:
                worker.start()
                publisher.wait_for("lists_stamped")
                assert publisher.said("outwaiting_old_master") == []
                api.world.put(PODS, pod("a"))
                eventually(lambda: ran(redis, A), 60)
                moving.lose_writes()
                api.world.put(PODS, pod("b"))
                eventually(lambda: ran(redis, B), 60)
                moving.fail_over()
                api.world.put(PODS, pod("c"))
                publisher.wait_for("outwaiting_old_master", 60)
                assert IdleWorker(redis).run(A) is Refusal.NOT_READY
                eventually(lambda: len(publisher.said("lists_stamped")) > 1, 60)
                eventually(lambda: ran(redis, B) and ran(redis, C), 60)
                assert worker.running()
                assert publisher.end() == 0, (tmp_path / "publisher").read_text()
            finally:
                worker.kill()


@pytest.fixture
def runners(moving: MovingEndpoint, tmp_path: Path) -> Iterator[RunnerPool]:
    with connect_state(RedisSettings(url=moving.url)) as client:
        made = RunnerPool(tmp_path, client, moving.url)
        yield made
        for runner in made.runners.values():
            runner.kill()
            print(runner.tail())  # noqa: T201 - shown when the test fails


@pytest.mark.row("ST-40")
def test_a_job_whose_record_is_lost_while_it_runs_ends_once(
    moving: MovingEndpoint, runners: RunnerPool, redis: Redis, redis_url: str
) -> None:
    """Its runner reports it, and its client submits it again. The diary is on a server that loses nothing."""

    def diary() -> list[str]:
        lines: Any = redis.lrange(DIARY, 0, -1)
        return [line.decode() for line in lines]

    def verified() -> bool:
        with suppress(*OUTAGE):
            runners.ledger.begin(["uid-a"])
            return preload(runners.ledger) == "" and runners.open("a")
        return False

    runners.start("a", "threads", DIARY_URL=redis_url)
    runners.ready("a")
    runners.submit("early")
    runners.reaches("early", "done", 60)
    moving.lose_writes()
    with Fleet(moving.url) as fleet, ThreadPoolExecutor(1) as pool:
        again = timedelta(seconds=1)
        job = Request("late", POOL, "work", kwargs={"seconds": 8})
        runners.submit("late", seconds=8)
        running = pool.submit(fleet.run, job, timedelta(seconds=100), again)
        eventually(lambda: "start late plan" in diary(), 60)
        moving.fail_over()
        eventually(verified, 60)
        ended = running.result(100)
    assert ended.outcome == "succeeded"
    assert [line for line in diary() if "late" in line] == ["start late plan", "end late plan"]
    assert runners.record("early").outcome == "succeeded"
