"""Counters of a worker, as Prometheus sees them, are what its threads or children have done."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from compose.sandbox.redis_server import RedisServer
from tests.integration.worker.fleet import Fleet
from tests.support.scrapes import Endpoint
from tests.support.waiting import eventually

MakeFleet = Callable[[], Fleet]
RUNS, SECONDS = "berthmaster_reconciles_total", "berthmaster_reconcile_seconds_count"
PLACES = ("child-0", "child-1")


def endpoint(fleet: Fleet) -> Endpoint:
    return Endpoint(int(fleet.workers[0].environment["BERTHMASTER_METRICS__PORT"]))


def work(fleet: Fleet, name: str, keys: int = 20) -> set[int]:
    """The processes that ran them."""
    names = [f"pod/{name}/p{number}" for number in range(keys)]
    for key in names:
        fleet.mark(key, seconds=0.05)
    eventually(lambda: fleet.settled() and all(fleet.diary(key, "ended") for key in names))
    return {entry.process for entry in fleet.whole_diary("ended") if entry.key in names}


def counted(fleet: Fleet) -> bool:
    runs = len(fleet.whole_diary("ended"))
    return endpoint(fleet).total(RUNS, kind="pod") == endpoint(fleet).total(SECONDS, kind="pod") == runs


@pytest.mark.row("EV-15")
def test_the_counters_of_prefork_s_children_are_added_up_and_outlive_them(
    make_fleet: MakeFleet, tmp_path: Path
) -> None:
    pool = {"BERTHMASTER_CELERY__POOL": "prefork", "BERTHMASTER_CELERY__CONCURRENCY": str(len(PLACES))}
    fleet = make_fleet().start(workers=1, beats=1, PROMETHEUS_MULTIPROC_DIR=str(tmp_path), **pool)
    children = work(fleet, "first")
    assert len(children) == 2
    eventually(lambda: counted(fleet))
    for child in children:
        os.kill(child, signal.SIGKILL)
    others = work(fleet, "second")
    assert not others & children
    eventually(lambda: counted(fleet))
    (files,) = tmp_path.glob("berthmaster-metrics-*")
    of_parent = {"counter_parent.db"}  # ticks of tasks that this application does not know are refused there
    assert {file.name for file in files.glob("counter_*")} - of_parent == {f"counter_{who}.db" for who in PLACES}
    fleet.workers[0].terminate()
    assert not files.exists()


@pytest.mark.row("EV-15")
def test_the_counters_of_threads_are_those_of_their_process(make_fleet: MakeFleet) -> None:
    fleet = make_fleet().start(workers=1)
    work(fleet, "threads")
    eventually(lambda: counted(fleet))


@pytest.mark.row("EV-15")
def test_without_redis_there_are_counters_and_no_state(make_fleet: MakeFleet, server: RedisServer) -> None:
    fleet = make_fleet().start(workers=1)
    work(fleet, "before")
    seen = endpoint(fleet)
    assert seen.total("berthmaster_state_readable") == 1
    assert "berthmaster_queue_keys" in seen.names()
    server.kill()
    assert seen.states("berthmaster_state_readable") == {"": 0}
    assert not seen.names() & {"berthmaster_queue_keys", "berthmaster_queue_oldest_seconds", "berthmaster_ports"}
    assert RUNS in seen.names()
    server.start()
    eventually(lambda: seen.total("berthmaster_state_readable") == 1)
