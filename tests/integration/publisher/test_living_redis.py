"""A Redis that lives on under another history: publisher and workers notice, and go on without a restart."""

from __future__ import annotations

from pathlib import Path

import pytest
from redis import Redis

from berthmaster.redis.incarnation import connect
from compose.sandbox.redis_server import RedisServer
from events.workqueue import LeasedKey, Refusal, Workqueue
from tests.support.faults.living_redis import change_history, history, replica_of
from tests.support.pods.pods import pod
from tests.support.servers.celery_worker import CeleryProcess
from tests.support.servers.probe_tasks import DIARY
from tests.support.servers.publishing import IdleWorker, PublisherProcess, settings
from tests.support.servers.scripted_watch import PODS, ScriptedApi
from tests.support.waiting import eventually

A, B = "pod/games/a", "pod/games/b"


def ran(redis: Redis, key: str) -> bool:
    return any(key.encode() in line for line in redis.lrange(DIARY, 0, -1))


@pytest.mark.row("RD-21")
def test_publisher_and_workers_go_on_when_the_last_replica_is_gone_for_the_time_of_the_backlog(
    api: ScriptedApi, mortal: RedisServer, tmp_path: Path
) -> None:
    worker = CeleryProcess("worker", "worker", tmp_path, mortal.url, {"BERTHMASTER_KUBERNETES__SERVER": api.url})
    with (
        connect(mortal.url) as redis,
        replica_of(mortal, tmp_path / "replica") as replica,
        PublisherProcess(settings(api.url, mortal.url), tmp_path / "publisher") as publisher,
    ):
        try:
            worker.start()
            publisher.wait_for("lists_stamped")
            api.world.put(PODS, pod("a"))
            eventually(lambda: ran(redis, A), 40)
            before = history(redis)
            replica.kill()
            eventually(lambda: history(redis) != before)
            eventually(lambda: len(publisher.said("lists_stamped")) > 1)
            assert [line["reason"] for line in publisher.said("term_ended")] == ["state_lost"]
            api.world.put(PODS, pod("b"))
            eventually(lambda: ran(redis, B), 20)
            assert worker.running()
        finally:
            worker.kill()


@pytest.mark.row("RD-21")
def test_a_key_is_taken_in_the_first_call_after_the_publisher_has_verified_another_history(
    worker: IdleWorker, redis_url: str
) -> None:
    """Its connection names the old one still: who is refused asks the server anew, and once more for the key."""
    with connect(redis_url) as redis:
        publisher = Workqueue(redis, hint_queue="hints")
        assert publisher.assume_epoch("1:publisher")
        assert publisher.stamp("1:publisher")
        worker.queue.touch([A, B])
        assert isinstance(worker.run(A), LeasedKey)
        change_history(redis)
        assert not publisher.stands("1:publisher")
        assert publisher.assume_epoch("1:publisher/2")
        assert worker.run(B) is Refusal.NOT_READY  # the claim closes the queue at once, whatever a worker believes
        assert publisher.stamp("1:publisher/2")
        eventually(lambda: isinstance(worker.run(B), LeasedKey))
