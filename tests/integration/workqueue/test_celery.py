"""Stock Celery takes the hints that scripts push, and gives them back unharmed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kombu import Connection
from redis import Redis

from berthmaster import routing
from tests.integration.workqueue.brokers import Here
from tests.integration.workqueue.celery_app import RAN
from tests.integration.workqueue.world import EPOCH, World, mark
from tests.support.waiting import eventually

POOL = routing.port_pool_key("arena")


@pytest.fixture
def here(redis: Redis) -> World:
    return World(Here(redis))


@pytest.fixture
def worker(redis_url: str, tmp_path: Path) -> Iterator[Path]:
    """The log of a real worker process."""
    log = tmp_path / "worker.log"
    app = "tests.integration.workqueue.celery_app"
    options = [
        "--pool",
        "solo",
        "--queues",
        routing.LATENCY,
        "--without-gossip",
        "--without-mingle",
        "--loglevel",
        "INFO",
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "celery", "--app", app, "worker", "--loglevel", "INFO", *options],
            env={**os.environ, "STOCK_BROKER": redis_url},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    yield log
    process.terminate()
    process.wait(20)


@pytest.mark.row("EV-07")
def test_a_celery_worker_takes_the_hints_that_scripts_have_pushed(here: World, redis: Redis, worker: Path) -> None:
    here.queue.marks(EPOCH, [mark(1), mark(1, POOL)])
    hints = here.unbegun()
    assert len(hints) == 2

    def ran() -> list[str]:
        raws: Any = redis.lrange(RAN, 0, -1)
        return [raw.decode() for raw in raws]

    eventually(lambda: len(ran()) == 2, timeout=40)
    assert sorted(ran()) == sorted(f"{routing.QUEUE_DRAIN} {hint} {hint}" for hint in hints)
    eventually(lambda: not redis.exists("unacked", "unacked_index"))
    assert "ERROR" not in worker.read_text()


@pytest.mark.row("EV-07")
def test_a_hint_that_a_worker_could_not_finish_goes_back_to_its_queue(
    here: World, redis: Redis, redis_url: str
) -> None:
    here.mark(1)
    with Connection(redis_url) as connection:
        channel: Any = connection.channel()
        message = channel.basic_get(routing.LATENCY)
        assert message.headers["task"] == routing.QUEUE_DRAIN
        assert redis.llen(routing.LATENCY) == 0
        channel.close()  # a worker that shuts down before it acknowledges
    assert here.hints() == here.unbegun()
