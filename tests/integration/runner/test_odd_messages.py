"""A runner runs its user's tasks as they are; an odd message in its queue takes nothing away from it for ever."""

from __future__ import annotations

from typing import Any

import pytest

from berthmaster.jobs.messages import queue_of
from tests.integration.runner.conftest import POOL, RunnerPool
from tests.support.faults.odd_messages import NAMED, Message, encoded, named
from tests.support.waiting import eventually

MORE: tuple[Message, ...] = (
    {"headers": {"id": {}}},
    {"headers": {"id": None, "shadow": {"a": 1}}},
    {"headers": {"timelimit": 5}},
    {"headers": {"eta": 5}},
    {"headers": {"berthmaster": 5}},
    {"headers": {"berthmaster": {"id": "j", "attempt": "../../../x", "uid": "u", "phase": "p", "job": {}}}},
    {"headers": {"stamped_headers": 5}},
    {"embed": {"delivery_info": 7, "called_directly": []}},
    {"embed": [1]},
)


def odd(change: Message, task: str) -> str:
    made: dict[str, Any] = named("", change)
    made["headers"]["task"] = task
    made["body"] = encoded([[], {}, change.get("embed", {})])
    return encoded(made)


@pytest.mark.row("HO-01")
@pytest.mark.parametrize("kind", ["prefork", "threads"])
def test_odd_messages_take_no_slot_of_a_runner_away(pool: RunnerPool, kind: str) -> None:
    pool.start("a", kind)
    pool.ready("a")
    queue = queue_of(POOL, "a")
    for task in ("work", "fail"):
        pool.redis.lpush(queue, *(odd(change, task) for change in (*NAMED, *MORE) for _ in range(3)))
    eventually(lambda: pool.redis.llen(queue) == 0, 60)
    pool.submit("after")
    assert pool.reaches("after", "done", 60).outcome == "succeeded"
    eventually(lambda: not [key for key in pool.redis.scan_iter("*unacked*") if pool.redis.type(key) == b"hash"], 60)
