"""A worker that holds messages which nothing settles looks idle, and does no work: its probe fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kombu import Connection, Consumer, Queue

from berthmaster import routing
from berthmaster.redis.incarnation import connect
from compose.sandbox.free_ports import free_port
from compose.sandbox.redis_server import RedisServer
from tests.integration.worker.fleet import IMPATIENT, samples
from tests.integration.worker.test_liveness import make_stale, probe
from tests.support.servers.celery_worker import CeleryProcess
from tests.support.waiting import eventually
from workers.celery_app.unsettled import UnsettledMessages

QUEUE = Queue("unsettled", routing_key="unsettled")


@pytest.fixture
def deaf(tmp_path: Path, server: RedisServer) -> Iterator[CeleryProcess]:
    patience = {"BERTHMASTER_CELERY__STUCK_AFTER": "1", "BERTHMASTER_CELERY__VISIBILITY_TIMEOUT": "120"}
    port = {"BERTHMASTER_METRICS__PORT": str(free_port())}
    worker = CeleryProcess("worker", "deaf", tmp_path, server.url, {**IMPATIENT, **patience, **port})
    worker.application = "tests.support.faults.deaf_tasks"
    yield worker.start()
    worker.kill()


@pytest.mark.row("HO-01")
def test_the_probe_fails_for_a_worker_whose_messages_nothing_settles(deaf: CeleryProcess, server: RedisServer) -> None:
    deaf.ready()
    connect(server.url).lpush(
        routing.LATENCY, *(routing.message(routing.PORTS_RECONCILE, f"pod/a/b-{n}") for n in range(20))
    )

    def said() -> list[str]:
        return [line["reason"] for line in deaf.log_lines() if line["event"] == "worker_stuck"]

    assert "a message has not been settled" in eventually(said, timeout=60)[0]
    make_stale(deaf)
    assert probe(deaf) == 1
    assert samples(deaf, "berthmaster_worker_heartbeat_age_seconds", {})[0] > 0


@pytest.mark.row("HO-01")
def test_a_message_is_held_from_its_delivery_until_it_is_settled(redis_url: str) -> None:
    now = [0.0]
    unsettled, held = UnsettledMessages(lambda: now[0]), list[Any]()
    with Connection(redis_url) as connection:
        channel = connection.default_channel
        producer = connection.Producer()
        for text in ("first", "second"):
            producer.publish(text, routing_key=QUEUE.name, declare=[QUEUE])
        with Consumer(channel, [QUEUE], on_message=held.append):
            assert unsettled.oldest(channel) == 0
            while len(held) < 2:
                connection.drain_events(timeout=20)
            ages = []
            for message in (*held, None):
                ages.append(unsettled.oldest(channel))
                now[0] += 60
                ages.append(unsettled.oldest(channel))
                if message:
                    message.ack()
    assert ages == [0, 60, 60, 120, 0, 0]
