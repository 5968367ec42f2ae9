"""What a client of jobs is told at once, and what `Fleet.run` does while Redis is away."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from berthmaster.client import Fleet, Request
from berthmaster.redis.incarnation import connect
from compose.sandbox.redis_server import RedisServer

POOL = "ci/runners"
JOB = Request("j", POOL, "work")
LONG = timedelta(seconds=20)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    made = RedisServer(tmp_path, appendonly=False).start()
    yield made
    made.kill()


@pytest.mark.row("SL-16")
def test_run_goes_on_until_its_time_is_up_while_redis_is_away(server: RedisServer) -> None:
    server.kill()
    begun = time.monotonic()
    with Fleet(server.url) as fleet, pytest.raises(TimeoutError, match="did not end within 3 s: Redis is away"):
        fleet.run(JOB, timedelta(seconds=3))
    assert time.monotonic() - begun >= 3


@pytest.mark.row("SL-16")
def test_run_outlives_an_outage_that_begins_before_it(server: RedisServer) -> None:
    """Not `again` decides when it is said once more: the broker has not taken it."""
    server.kill()
    back = Timer(2, server.start)
    back.start()
    with Fleet(server.url) as fleet, pytest.raises(TimeoutError, match="no worker has taken it in"):
        fleet.run(JOB, timedelta(seconds=6), again=timedelta(minutes=5))
    back.join()
    with connect(server.url) as redis:
        assert redis.llen("berthmaster.jobs") == 1


@pytest.mark.parametrize("name", ["timeout", "again"])
@pytest.mark.parametrize(
    "value, error",
    [(timedelta(0), ValueError), (timedelta(seconds=-1), ValueError), (10, TypeError), (None, TypeError)],
)
def test_a_length_of_time_that_is_none_is_named(redis_url: str, name: str, value: Any, error: type[Exception]) -> None:
    with Fleet(redis_url) as fleet, pytest.raises(error, match=f"^{name}: must be "):
        fleet.run(JOB, **{"timeout": LONG, name: value})


@pytest.mark.parametrize(
    "field, value",
    [
        *(("pool", value) for value in ("nope", "", "a/b/c", None)),
        *(("id", value) for value in ("", "a b", 7, None)),
        *(("plan", value) for value in (7, "", "7", "plan", None)),
    ],
)
def test_a_decision_that_a_worker_would_refuse_is_refused_at_once(redis_url: str, field: str, value: Any) -> None:
    told: dict[str, Any] = {"pool": POOL, "id": "j", "plan": "1-1"} | {field: value}
    with Fleet(redis_url) as fleet:
        with pytest.raises(ValueError, match=f"^{field}: "):
            fleet.confirm(*told.values())
        if field != "plan":
            with pytest.raises(ValueError, match=f"^{field}: "):
                fleet.cancel(told["pool"], told["id"])
    with connect(redis_url) as redis:
        assert not redis.exists("berthmaster.jobs")
