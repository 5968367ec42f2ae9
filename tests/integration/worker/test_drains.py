"""Real workers, of threads and of processes, drain many keys with few messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.worker.fleet import Fleet
from tests.integration.worker.fleet import mark as marked
from tests.support.ready_keys import ready_keys
from tests.support.waiting import eventually

KEYS = [f"pod/drain/p-{number:03}" for number in range(600)]
POOLS = pytest.mark.parametrize("pool", ["threads", "prefork"])
FEW = {"BERTHMASTER_CELERY__CONCURRENCY": "4"}
LONG = {
    "BERTHMASTER_QUEUE__DRAIN_TIME": "100s",
    "BERTHMASTER_QUEUE__HINT_LOST_AFTER": "100s",
    "BERTHMASTER_CELERY__VISIBILITY_TIMEOUT": "600",
}
MOST_MESSAGES = 40
"""Twelve slices of fifty keys, one more for each of four threads, and those that find nothing."""


def fill(fleet: Fleet, keys: list[str], **body: Any) -> None:
    fleet.queue.marks(fleet.epoch, [marked(key, **body) for key in keys])


@POOLS
@pytest.mark.row("EV-06", "EV-24")
def test_six_hundred_keys_are_a_few_messages(make_fleet: Callable[[], Fleet], pool: str) -> None:
    fleet = make_fleet().start(1, 0, BERTHMASTER_CELERY__POOL=pool, **FEW, **LONG)
    fill(fleet, KEYS)
    eventually(lambda: fleet.settled() and fleet.all_acknowledged(), timeout=120)
    assert sorted(entry.key for entry in fleet.whole_diary("ended")) == KEYS
    sent: Any = fleet.redis.hget("{queue}meta", "hints")
    assert int(sent) <= MOST_MESSAGES
    assert fleet.metric("berthmaster_reconciles_total", kind="pod", outcome="settled") == len(KEYS)


@POOLS
@pytest.mark.row("EV-14", "EV-24")
def test_a_worker_that_ends_in_the_middle_of_drains_holds_nothing_and_loses_nothing(
    make_fleet: Callable[[], Fleet], pool: str
) -> None:
    """Threads end with the key in hand, processes with their slice."""
    long = {"BERTHMASTER_QUEUE__DRAIN_KEYS": "100000"} | (LONG if pool == "threads" else {})
    own = {"BERTHMASTER_CELERY__VISIBILITY_TIMEOUT": "600", "BERTHMASTER_QUEUE__LEASE": "600", **FEW, **long}
    fleet = make_fleet().start(1, 1, BERTHMASTER_CELERY__POOL=pool, **own)
    fill(fleet, KEYS, seconds=0.1)
    eventually(lambda: len(fleet.whole_diary("ended")) >= 30, timeout=60)
    assert fleet.workers[0].terminate() == 0
    started = [entry.key for entry in fleet.whole_diary("started")]
    assert len(started) == len(fleet.whole_diary("ended")) < len(KEYS)
    assert fleet.queue.depth()["held"] == 0
    assert sorted([*started, *ready_keys(fleet.redis)]) == KEYS
    assert not fleet.redis.hlen("unacked")
    fleet.add_worker(BERTHMASTER_CELERY__POOL=pool, **FEW)
    eventually(fleet.settled, timeout=120)
    assert sorted(entry.key for entry in fleet.whole_diary("ended")) == KEYS
