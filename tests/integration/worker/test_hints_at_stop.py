"""SIGTERM: a hint that a worker has taken and not begun goes to another at once, while the runs in hand go on."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.worker.fleet import Fleet
from tests.support.waiting import eventually

LONG, KEY = "pod/stop/long", "pod/stop/next"
PATIENT: dict[str, Any] = {  # nothing but the worker itself gives a message back
    "BERTHMASTER_CELERY__CONCURRENCY": "2",
    "BERTHMASTER_CELERY__VISIBILITY_TIMEOUT": "600",
    "BERTHMASTER_QUEUE__HINT_LOST_AFTER": "600",
}


@pytest.mark.row("EV-14")
@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_hint_that_was_sent_to_a_worker_before_it_is_asked_to_end_goes_to_another(
    make_fleet: Callable[[], Fleet], pool: str
) -> None:
    """Rule decline: the worker reads the hint when it is already asked to end."""
    fleet = busy(make_fleet(), pool)
    stop_while_it_waits_for_the_broker(fleet)
    fleet.mark(KEY)
    fleet.workers[0].signal(signal.SIGTERM)
    fleet.workers[0].signal(signal.SIGCONT)
    assert_another_serves(fleet, pool)


@pytest.mark.row("EV-14")
def test_a_hint_that_is_sent_to_a_worker_after_it_is_asked_to_end_goes_to_another(
    make_fleet: Callable[[], Fleet],
) -> None:
    """Rule decline: Redis answers the last BRPOP, up to a second after the worker has cancelled its consumer."""
    fleet = busy(make_fleet(), "threads")
    fleet.workers[0].signal(signal.SIGTERM)
    eventually(lambda: b"Warm shutdown" in fleet.workers[0].log_file.read_bytes())
    fleet.mark(KEY)
    assert_another_serves(fleet, "threads")


def busy(fleet: Fleet, pool: str) -> Fleet:
    """A fleet of one worker, which has a long run."""
    fleet.start(BERTHMASTER_CELERY__POOL=pool, **PATIENT)
    fleet.mark(LONG, seconds=200, keeps=True)
    eventually(lambda: fleet.diary(LONG, "started"))
    return fleet


def stop_while_it_waits_for_the_broker(fleet: Fleet) -> None:
    """Then Redis hands it the next message, which it cannot read yet."""

    def waits() -> bool:
        fleet.workers[0].signal(signal.SIGSTOP)
        clients: Any = fleet.redis.info("clients")
        if not clients["blocked_clients"]:
            fleet.workers[0].signal(signal.SIGCONT)
        return bool(clients["blocked_clients"])

    eventually(waits)


def assert_another_serves(fleet: Fleet, pool: str) -> None:
    fleet.add_worker(BERTHMASTER_CELERY__POOL=pool, **PATIENT).ready()
    eventually(lambda: fleet.diary(KEY, "ended"), timeout=60)
    assert not fleet.diary(LONG, "ended")
