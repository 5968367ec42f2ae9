"""Two thousand odd messages through running workers: each is settled, counted and named, and the worker goes on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from berthmaster import routing
from compose.sandbox.redis_server import RedisServer
from tests.integration.worker.fleet import Fleet
from tests.support.faults.odd_messages import NAMED, encoded, named, odd_messages
from tests.support.waiting import eventually

FIRST, NUMBER = 250, 1000
GROWTH = 40  # MB
SETTINGS = {
    "BERTHMASTER_CELERY__VISIBILITY_TIMEOUT": "120",  # each message comes once
    "BERTHMASTER_QUEUE__HINT_LOST_AFTER": "60",
    "BERTHMASTER_CELERY__CONCURRENCY": "3",
}
COUNTED = ("messages_refused", "payloads_refused", "takes_refused")


@pytest.fixture(scope="module", params=["threads", "prefork"])
def fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """One worker, and no beat that would send it anything."""
    directory = tmp_path_factory.mktemp(f"odd-{request.param}")
    server = RedisServer(directory / "redis").start()
    fleet = Fleet(directory, server)
    try:
        yield fleet.start(1, 0, **SETTINGS, BERTHMASTER_CELERY__POOL=request.param)
    finally:
        fleet.end()
        server.kill()


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The same each time; another one with `--hypothesis-profile=search`."""
    searches = request.config.getoption("hypothesis_profile", None) == "search"
    return random.randrange(2**32) if searches else 29


def send(fleet: Fleet, messages: list[str]) -> None:
    fleet.redis.lpush(routing.LATENCY, *messages)
    eventually(fleet.all_acknowledged, timeout=60)


def counted(fleet: Fleet) -> float:
    """Each message ends in one of these: it is refused, its payload is, or its key is clean."""
    return sum(fleet.metric(f"berthmaster_{name}_total") for name in COUNTED)


def consumes(fleet: Fleet, key: str) -> bool:
    fleet.mark(key)
    eventually(lambda: fleet.diary(key, "ended"), timeout=30)
    return fleet.workers[0].running()


def memory(fleet: Fleet) -> float:
    """MB of the worker and its children."""
    (worker,) = fleet.workers
    assert worker.process
    children = Path(f"/proc/{worker.process.pid}/task/{worker.process.pid}/children").read_text().split()
    pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in (worker.process.pid, *children)]
    return sum(pages) * 4096 / 2**20


@pytest.mark.row("HO-01")
@pytest.mark.parametrize("change", NAMED, ids=str)
def test_as_many_odd_messages_as_a_worker_may_hold_do_not_stop_it(fleet: Fleet, change: dict[str, object]) -> None:
    """Three that took a thread away for ever."""
    send(fleet, [encoded(named("pod/odd/named", change)) for _ in range(20)])
    assert consumes(fleet, f"pod/odd/after-{NAMED.index(change)}")


@pytest.mark.row("HO-01")
def test_any_message_is_settled_counted_and_named_and_memory_stays_flat(fleet: Fleet, seed: int) -> None:
    messages = [encoded(message) for message in odd_messages(seed, FIRST + NUMBER)]
    before, said = counted(fleet), named_in_log(fleet)
    refused = fleet.metric("berthmaster_messages_refused_total")
    send(fleet, messages[:FIRST])
    grown = memory(fleet)
    send(fleet, messages[FIRST:])
    eventually(lambda: counted(fleet) == before + FIRST + NUMBER)
    assert named_in_log(fleet) - said == fleet.metric("berthmaster_messages_refused_total") - refused > NUMBER / 2
    assert memory(fleet) - grown < GROWTH
    assert consumes(fleet, "pod/odd/after-all")


def named_in_log(fleet: Fleet) -> int:
    lines = [line for worker in fleet.workers for line in worker.log_lines() if line["event"] == "message_refused"]
    assert all(len(str(line.get("problem", ""))) <= 500 for line in lines)
    assert all({"task", "id"} <= line.keys() or "error" in line for line in lines)
    return len(lines)
