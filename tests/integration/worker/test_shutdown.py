"""SIGTERM ends a worker as soon as its runs have ended, and leaves the rest to others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.integration.worker.fleet import Fleet
from tests.support.waiting import eventually


@pytest.mark.row("EV-14")
def test_a_worker_that_is_asked_to_stop_finishes_its_runs_and_starts_no_more(make_fleet: Callable[[], Fleet]) -> None:
    fleet = make_fleet().start(BERTHMASTER_CELERY__CONCURRENCY="4", BERTHMASTER_CELERY__VISIBILITY_TIMEOUT="600")
    keys = [f"pod/stop/p{number}" for number in range(10)]
    for key in keys:
        fleet.mark(key, seconds=2)
    eventually(lambda: len(fleet.whole_diary("started")) >= 4)
    assert fleet.workers[0].terminate() == 0
    assert len(fleet.whole_diary("started")) == len(fleet.whole_diary("ended")) < len(keys)
    assert not fleet.redis.hlen("unacked")  # nothing that only the visibility timeout would bring back
    fleet.add_worker()
    eventually(lambda: all(fleet.diary(key, "ended") for key in keys) and fleet.settled(), timeout=30)
    assert len(fleet.whole_diary("started")) == len(keys)
