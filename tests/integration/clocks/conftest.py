"""A Redis server whose TIME a test sets."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from itertools import count

import pytest
from redis import Redis

from berthmaster.redis.incarnation import connect
from compose.sandbox.redis_server import RedisServer
from events.workqueue import LeasedKey, Workqueue
from tests.integration.workqueue.world import EPOCH, KEY, OTHER, mark
from tests.support.faults.shifted_clock import ShiftedClock
from tests.support.jobs.slot_world import DAY, SlotWorld
from tests.support.waiting import eventually

JUMPS = pytest.mark.parametrize("back", [600, 3600])
SHORT = timedelta(milliseconds=300)
MINUTE = timedelta(minutes=1)
NEAR = 60.0  # seconds; less than any jump of a test


class RedisClock:
    """Of a server that runs with `clock`."""

    def __init__(self, redis: Redis, clock: ShiftedClock) -> None:
        self._redis, self._clock = redis, clock

    def move(self, seconds: float) -> None:
        """Returns once the server's scripts see it: it keeps the time for a moment."""
        self._clock.move(seconds)
        eventually(lambda: abs(self._redis.time()[0] - time.time() - seconds) < NEAR)


@pytest.fixture(scope="session")
def moving_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RedisServer, ShiftedClock]]:
    directory = tmp_path_factory.mktemp("moving-redis")
    server, clock = RedisServer(directory, appendonly=False), ShiftedClock(directory)
    server.daemon.env |= clock.variables
    server.start()
    yield server, clock
    server.kill()


@pytest.fixture
def redis(moving_server: tuple[RedisServer, ShiftedClock]) -> Iterator[Redis]:
    client = connect(moving_server[0].url)
    client.flushall()
    yield client
    client.close()


@pytest.fixture
def clock(redis: Redis, moving_server: tuple[RedisServer, ShiftedClock]) -> Iterator[RedisClock]:
    made = RedisClock(redis, moving_server[1])
    yield made
    made.move(0)


def taken(queue: Workqueue, key: str, lease: timedelta, nonces: count[int] = count()) -> LeasedKey:  # noqa: B008 - unique on purpose
    run = queue.take(key, lease, f"n{next(nonces)}")
    assert isinstance(run, LeasedKey), run
    return run


@pytest.fixture
def queue(redis: Redis) -> Workqueue:
    """With two keys that are marked, and whose hints are gone."""
    made = Workqueue(redis, publish=lambda _: None)
    assert made.assume_epoch(EPOCH)
    assert made.stamp(EPOCH)
    assert made.marks(EPOCH, [mark(1, KEY), mark(1, OTHER)]) == [1, 1]
    return made


@pytest.fixture
def world(redis: Redis) -> SlotWorld:
    """With a pod of one slot, and swept while TIME was right."""
    pool = SlotWorld(redis)
    pool.add("a", layout=("*",))
    assert pool.ledger.sweep(DAY).placed == ()
    return pool
