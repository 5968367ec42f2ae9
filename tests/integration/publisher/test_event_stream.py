"""One limit of the event stream, whoever writes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from redis import Redis

from berthmaster.clock import wall_clock
from berthmaster.events import AllocationFailed
from berthmaster.routing import EVENTS_STREAM
from events.protocol.event_stream import EventStream
from events.settings import ProcessSettings, StreamSettings
from tests.support.pods.pods import pod
from tests.support.servers.publishing import publishing
from tests.support.servers.scripted_watch import PODS, ScriptedApi
from tests.support.waiting import eventually
from workers.settings import WorkerSettings
from workers.stores.journal import EventJournal

Write = Callable[[int], None]


def of_a_worker(redis: Redis, stream: EventStream) -> Write:
    journal, now = EventJournal(redis, stream), wall_clock()
    failed = AllocationFailed(key="pod/games/a", reporter="test")
    return lambda number: journal.write(str(number), now, failed)


def of_the_publisher(redis: Redis, stream: EventStream) -> Write:
    return lambda number: stream.append(redis, [b"%d" % number])


@pytest.mark.row("RD-24")
@pytest.mark.parametrize("writer", [of_a_worker, of_the_publisher])
@pytest.mark.parametrize("length, least, most", [(0, 0, 0), (200, 200, 399), (12_000, 12_000, 12_199)])
def test_each_writer_keeps_the_stream_to_the_length_that_is_set(
    redis: Redis, writer: Callable[..., Write], length: int, least: int, most: int
) -> None:
    stream, held = EventStream(StreamSettings(length=length)), min(length, 11_000)
    stream.append(redis, [b"old"] * held)
    write = writer(redis, stream)
    for number in range(1200):
        write(number)
    assert least <= int(redis.xlen(EVENTS_STREAM)) <= most  # Redis drops whole nodes of a stream


@pytest.mark.row("RD-24")
def test_publisher_and_workers_read_the_same_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("CLUSTER", "test"), ("STREAM__LENGTH", "7"), ("STREAM__SIZE", "2097152")):
        monkeypatch.setenv(f"BERTHMASTER_{name}", value)
    assert WorkerSettings().stream == ProcessSettings().stream == StreamSettings(length=7, size=2 * 2**20)


@pytest.mark.row("RD-24", "HO-03")
def test_the_publisher_bounds_the_memory_of_the_stream_whoever_filled_it(
    api: ScriptedApi, redis: Redis, redis_url: str
) -> None:
    size = 2**20
    with publishing(api.url, redis_url, stream={"size": size}):
        others = EventStream(StreamSettings())
        others.append(redis, [b"small"] * 5000)
        others.append(redis, [b"x" * 50_000] * 40)
        eventually(lambda: memory(redis) <= size)
        api.world.put(PODS, pod("last"))
        eventually(lambda: b"pod/games/last" in newest(redis))
        assert int(redis.xlen(EVENTS_STREAM)) > 10


def newest(redis: Redis) -> bytes:
    (entry,) = cast(Any, redis.xrevrange(EVENTS_STREAM, count=1))
    return bytes(entry[1][b"event"])


def memory(redis: Redis) -> int:
    used: Any = redis.memory_usage(EVENTS_STREAM, samples=0)
    return int(used)
