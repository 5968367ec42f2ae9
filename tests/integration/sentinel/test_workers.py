"""Celery's workers and beat behind sentinels: a failover is a loss of Redis like any other, and they outlive it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from redis.exceptions import RedisError

from berthmaster import routing
from berthmaster.redis.client import connect_state
from berthmaster.redis.incarnation import incarnation
from berthmaster.redis.settings import RedisSettings
from events.workqueue import Mark, Workqueue
from tests.integration.worker.fleet import Entry, Fleet, mark
from tests.support.servers.sentinel_group import SentinelGroup
from tests.support.waiting import eventually

KEYS = [f"pod/games/p{number}" for number in range(40)]


class Behind(Fleet):
    """All of it reaches Redis through the sentinels."""

    def __init__(self, directory: Path, group: SentinelGroup) -> None:
        super().__init__(directory, group.members[0], group.url)
        self.redis = connect_state(RedisSettings(url=group.url))
        self.queue = Workqueue(self.redis, hint_queue=routing.LATENCY)

    def marked(self, version: int, seconds: float = 0.2) -> list[Mark]:
        return [mark(key, version, seconds=seconds, keeps=True, effect=True) for key in KEYS]

    def ended(self, version: int) -> set[str]:
        with suppress(RedisError):
            return {entry.key for entry in self.whole_diary("ended") if entry.version == version}
        return set()


@pytest.fixture
def behind(tmp_path: Path) -> Iterator[Callable[..., Behind]]:
    made: list[Behind] = []

    def make(group: SentinelGroup, pool: str = "threads") -> Behind:
        made.append(Behind(tmp_path, group))
        made[-1].start(workers=2, BERTHMASTER_CELERY__POOL=pool, BERTHMASTER_CELERY__CONCURRENCY="4")
        return made[-1]

    yield make
    for fleet in made:
        fleet.end()


def superseded(entries: list[Entry]) -> list[Entry]:
    """What was done for a key by a holder after another had taken it."""
    latest: dict[str, int] = {}
    found = []
    for entry in entries:
        turn = int(entry.token.partition("-")[0])
        if entry.event == "effect" and turn < latest.get(entry.key, 0):
            found.append(entry)
        latest[entry.key] = max(turn, latest.get(entry.key, 0))
    return found


@pytest.mark.row("EV-10", "EV-13")
def test_workers_go_on_with_the_new_master_once_it_is_stamped_and_leave_nothing_undone(
    careful: SentinelGroup, behind: Callable[..., Behind]
) -> None:
    fleet = behind(careful)
    before = incarnation(fleet.redis)
    fleet.queue.marks(fleet.epoch, fleet.marked(1))
    eventually(lambda: len(fleet.ended(1)) > 5)
    careful.fail_over()
    eventually(lambda: other(fleet, before), timeout=40)
    held = fleet.whole_diary()
    fleet.publish_anew(fleet.marked(2))
    eventually(lambda: fleet.ended(2) == set(KEYS), timeout=60)
    eventually(lambda: fleet.settled() and fleet.all_acknowledged(), timeout=60)
    assert [entry for entry in fleet.whole_diary() if entry in held] == held
    assert superseded(fleet.whole_diary()) == []
    assert all(process.running() for process in [*fleet.workers, *fleet.beats])


def other(fleet: Behind, before: str) -> bool:
    with suppress(RedisError):
        return incarnation(fleet.redis) != before
    return False


@pytest.mark.row("EV-17")
def test_workers_and_those_who_ask_them_say_no_password(careful: SentinelGroup, behind: Callable[..., Behind]) -> None:
    """Celery tells everybody its options, and Flower shows them."""
    fleet = behind(careful)
    worker = fleet.workers[0]
    celery = [sys.executable, "-m", "celery", "-A", worker.application, "inspect", "--json"]
    variables = {**os.environ, **worker.settings()}
    told = [subprocess.check_output([*celery, asked], env=variables, text=True) for asked in ("stats", "conf")]
    assert '"master_name": "berths"' in told[0]
    logs = [process.log_file.read_text() for process in [*fleet.workers, *fleet.beats]]
    assert [text for text in [*told, *logs] if "of-sentinels" in text or "of-master" in text] == []


@pytest.mark.row("EV-10", "EV-13")
@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_master_that_is_killed_takes_no_worker_with_it(
    group: SentinelGroup, behind: Callable[..., Behind], pool: str
) -> None:
    fleet = behind(group, pool)
    fleet.queue.marks(fleet.epoch, fleet.marked(1))
    eventually(lambda: len(fleet.ended(1)) > 5)
    group.kill_master()
    fleet.publish_anew(fleet.marked(2))
    eventually(lambda: fleet.ended(2) == set(KEYS), timeout=60)
    eventually(lambda: fleet.settled() and fleet.all_acknowledged(), timeout=60)
    assert all(process.running() for process in [*fleet.workers, *fleet.beats])
