"""Marks on their way: all of a batch or a reason, and never without the Lease."""

from __future__ import annotations

from datetime import timedelta
from threading import Event
from typing import Any

import pytest
from redis import Redis, RedisError

from berthmaster.redis.incarnation import connect
from events.protocol.event_stream import EventStream
from events.publisher.lease import Lease
from events.publisher.metrics import Metrics
from events.publisher.resources import pods
from events.publisher.sender import CHUNK, EpochLostError, MarkSender
from events.settings import PublisherSettings, StreamSettings
from events.workqueue import Mark, Workqueue
from tests.integration.publisher.test_lease import candidate, candidate_of_nowhere
from tests.support.servers.publishing import IdleWorker
from tests.support.servers.scripted_watch import ScriptedApi

EPOCH = "1:me"
MANY = [Mark(f"pod/games/p{n}", 7, f"u{n}", gone=False, body=b"{}") for n in range(3 * CHUNK)]


@pytest.fixture
def lease(api: ScriptedApi) -> Lease:
    held = candidate(api, "me", duration=timedelta(minutes=9), renew_deadline=timedelta(minutes=5))
    assert held.try_acquire()
    return held


def sender(worker: IdleWorker, lease: Lease, over: Event, queue: Workqueue | None = None, **stream: int) -> MarkSender:
    assert worker.queue.assume_epoch(EPOCH)
    assert worker.queue.stamp(EPOCH)
    kept = EventStream(StreamSettings(**stream))
    return MarkSender(queue or worker.queue, lease, EPOCH, over, PublisherSettings(), Metrics(), kept)


def test_a_batch_in_hand_is_finished_after_the_stop(worker: IdleWorker, lease: Lease) -> None:
    over = Event()
    over.set()
    sender(worker, lease, over).send(pods(), MANY)
    assert len(worker.living()) == len(worker.told()) == len(MANY)


def test_a_stop_gives_up_a_batch_that_redis_does_not_take(worker: IdleWorker, lease: Lease) -> None:
    over = Event()
    over.set()
    nowhere = Workqueue(connect("redis://127.0.0.1:1/0"), hint_queue="hints")
    with pytest.raises(RedisError):
        sender(worker, lease, over, nowhere).send(pods(), MANY)


def test_nothing_is_sent_without_the_lease(worker: IdleWorker) -> None:
    with pytest.raises(EpochLostError, match="lease_lost"):
        sender(worker, candidate_of_nowhere(), Event()).send(pods(), MANY)
    assert worker.living() == {}
    assert worker.told() == []


def test_a_stream_of_no_entries_is_not_written(worker: IdleWorker, redis: Redis, lease: Lease) -> None:
    sender(worker, lease, Event(), length=0).send(pods(), MANY[:3])
    assert len(worker.living()) == 3
    assert not redis.exists("berthmaster:events")


def test_a_batch_is_one_round_trip(worker: IdleWorker, redis: Redis, lease: Lease) -> None:
    """Counted by the server: reads from sockets, not commands. A round trip a mark would be a read a mark at least."""
    sending = sender(worker, lease, Event())
    sending.send(pods(), MANY[:1])
    before = reads(redis)
    sending.send(pods(), MANY[1:11])
    assert reads(redis) - before < 10


def reads(redis: Redis) -> int:
    info: Any = redis.info("stats")
    return int(info["total_reads_processed"])
