"""The size of a pod pool over the last day: each change, and otherwise a point every two minutes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from redis import Redis

from tests.support.servers.shown_fleet import POOL, ShownFleet
from workers.fleet_pages.job_documents import pod_pool
from workers.fleet_pages.readers import FleetReaders
from workers.pod_pools.decision_log import MOST_POINTS, PERIOD, latest_decision, size_history

pytestmark = pytest.mark.row("UI-09")
SIZES = f"{{sp:{POOL}}}sizes"


def sizes(shown: ShownFleet) -> list[tuple[int, int, str]]:
    return [(point.size, point.change, point.reason) for point in size_history(shown.jobs.ledger)]


def grow_old(redis: Redis, by: timedelta) -> None:
    """Make every point so much older."""
    entries: Any = redis.xrange(SIZES)
    redis.delete(SIZES)
    for at, fields in entries:
        moment, number = at.split(b"-")
        redis.xadd(SIZES, fields, id=f"{int(moment) - by // timedelta(milliseconds=1)}-{int(number)}")


def test_only_changes_are_kept_at_once(shown: ShownFleet, redis: Redis) -> None:
    shown.decide("the minimum", 2, 2)
    shown.decide("enough slots idle", 2)
    shown.decide("jobs wait", 3, 1)
    assert sizes(shown) == [(2, 2, "the minimum"), (3, 1, "jobs wait")]
    grow_old(redis, PERIOD)
    shown.decide("enough slots idle", 3)
    shown.decide("enough slots idle", 3)
    assert sizes(shown)[2:] == [(3, 0, "enough slots idle")]
    latest = latest_decision(shown.jobs.ledger)
    assert latest
    assert (latest.size, latest.reason) == (3, "enough slots idle")


def test_the_history_has_an_end(shown: ShownFleet, redis: Redis) -> None:
    shown.decide("too old", 1, 1)
    grow_old(redis, timedelta(days=1, seconds=1))
    assert sizes(shown) == []
    for size in range(MOST_POINTS + 2):
        shown.decide("more", size, 1)
    assert [size for size, _, _ in sizes(shown)] == list(range(2, MOST_POINTS + 2))


def test_the_page_of_the_pool_has_a_chart(shown: ShownFleet, redis: Redis) -> None:
    readers = FleetReaders(redis)
    shown.decide("the minimum", 2, 2)
    page = pod_pool(readers, POOL)
    assert page is None or page.chart is None, "one point is no line"
    shown.jobs.add("a")
    shown.decide("jobs wait \u202e", 3, 1)
    page = pod_pool(readers, POOL)
    assert page
    assert page.chart
    assert [point[1:] for point in page.chart["points"]] == [
        [[2, 2, 0, 0], "+2: the minimum"],
        [[3, 3, 0, 0], "+1: jobs wait \\u202e"],
    ]
