"""State that another version of Berthmaster has written is not used, and is discarded before the queue is opened."""

from __future__ import annotations

from typing import Any

import pytest
from redis import Redis

from berthmaster import routing
from berthmaster.jobs.runner_ledger import NotVerified
from berthmaster.jobs.scripts import load_scripts
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.redis.identity import Identity
from berthmaster.redis.incarnation import STATE_VERSION, incarnation
from events.workqueue import Refusal, Workqueue, other_version
from tests.integration.workqueue.brokers import Here
from tests.integration.workqueue.world import EPOCH, HOUR, KEY, mark
from tests.support.jobs.slot_world import SlotWorld
from tests.support.ports.builders import active_pool, load_balancer
from tests.support.ports.live_pool import LivePool
from workers.stores.ports.ledger import NotReady

NEXT = "8:publisher-b"
KEYS = {"meta": "{queue}meta", "snap": "{queue}snap"}
BLUE = Identity("blue", "uid-of-blue")


def make_older(redis: Redis) -> None:
    """Make all state in Redis that of a release whose state has another version, by the version in its stamps."""
    ours, other = f":{STATE_VERSION}".encode(), b":v0"
    redis.hset("{queue}meta", "version", "v0")
    for key in redis.scan_iter():
        if redis.type(key) == b"hash":
            fields: Any = redis.hgetall(key)
            stamps = {field: value for field, value in fields.items() if ours in value}
            for field, value in stamps.items():
                redis.hset(key, field, value.replace(ours, other))


def publish(queue: Workqueue, epoch: str, *versions: int) -> None:
    assert queue.assume_epoch(epoch, BLUE)
    assert all(answer >= 0 for answer in queue.marks(epoch, [mark(version) for version in versions], relist=True))
    assert queue.stamp(epoch)


def test_state_of_another_version_is_not_ready_and_is_built_anew(redis: Redis) -> None:
    """Rule stateversion."""
    publish(Here(redis).workqueue(), EPOCH, 1)
    entries = active_pool(redis).allocate("games/a")
    slots = SlotWorld(redis)
    slots.add("a")
    slots.submit("job")
    assert slots.state("job") == "placed"
    make_older(redis)
    pool, queue = LivePool(redis, "arena", 30000, 1000), Here(redis).workqueue()
    assert queue.take(KEY, HOUR, "n") is Refusal.NOT_READY
    assert not queue.stands(EPOCH)
    with pytest.raises(NotReady):
        pool.run("games/b")
    with pytest.raises(NotVerified):
        SlotLedger(redis, load_scripts(redis), "ci/runners").cancel("job")

    redis.set("celery-task-meta-of-somebody", "result")
    publish(queue, NEXT, 1)
    assert not isinstance(
        queue.take(KEY, HOUR, "n"), Refusal
    )  # its snapshot is new, although the object has not changed
    assert queue.owner() == BLUE
    assert redis.get("celery-task-meta-of-somebody") == b"result"
    assert redis.llen(routing.LATENCY) == 2
    assert pool.held() == {}
    pool.rebuild({"games/a": entries})
    pool.configure([load_balancer()])
    assert pool.ports("games/b") == [("lb-0", 30001)]
    slots = SlotWorld(redis)
    assert slots.ledger.record("job") is None
    slots.add("b")
    slots.submit("job")
    assert slots.record("job").uid == "b"


def test_a_publisher_that_was_outbid_deletes_nothing_of_its_successor(redis: Redis) -> None:
    """Rule stateversion: also when it was stalled after it had read the version."""
    publish(Here(redis).workqueue(), EPOCH, 1)
    active_pool(redis).allocate("games/a")
    make_older(redis)
    before = sorted(redis.scan_iter())
    assert not other_version.discard_other_version(redis, KEYS, "6:outbid", incarnation(redis))
    assert sorted(redis.scan_iter()) == before


def test_what_was_discarded_by_half_is_discarded_by_the_next_publisher(redis: Redis) -> None:
    """Another master answers in the middle, and may have the old state again."""
    publish(Here(redis).workqueue(), EPOCH, 1)
    make_older(redis)
    assert not other_version.discard_other_version(redis, KEYS, EPOCH, "another server")
    assert redis.hget("{queue}meta", "version") == other_version.DISCARDING.encode()
    queue = Here(redis).workqueue()
    assert queue.snapshot(KEY) is not None
    active_pool(redis).allocate("games/a")  # back with the other master
    publish(queue, NEXT)
    assert queue.snapshot(KEY) is None
    assert LivePool(redis, "arena", 30000, 1000).held() == {}


def test_another_epoch_of_the_same_version_keeps_the_state(redis: Redis) -> None:
    queue = Here(redis).workqueue()
    publish(queue, EPOCH, 1)
    active_pool(redis).allocate("games/a")
    publish(queue, NEXT)
    assert queue.snapshot(KEY) is not None
    assert "games/a" in LivePool(redis, "arena", 30000, 1000).held()


def test_a_ledger_that_is_older_than_the_first_publisher_stays(redis: Redis) -> None:
    """Redis lost what the queue has there, and nothing else: its version is not known to be another."""
    active_pool(redis).allocate("games/a")
    queue = Here(redis).workqueue()
    assert queue.assume_epoch(EPOCH, BLUE)  # and dies here
    assert redis.hget("{queue}meta", "version") == STATE_VERSION.encode()
    publish(queue, NEXT)
    assert "games/a" in LivePool(redis, "arena", 30000, 1000).held()
