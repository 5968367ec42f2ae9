"""A worker that lost its broker consumes again within a minute of the broker's return, or its probe fails."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from berthmaster import routing
from berthmaster.clock import age
from compose.sandbox.redis_server import RedisServer
from tests.integration.worker.fleet import IMPATIENT, Fleet
from tests.support.faults.tcp_proxy import TcpProxy
from tests.support.ready_keys import SENT
from tests.support.servers.celery_worker import CeleryProcess
from tests.support.waiting import eventually
from workers.cli.main import app
from workers.telemetry.heartbeat import of_beat

LONG_AGO = 120.0  # seconds


def probe(worker: CeleryProcess, *options: str) -> int:
    """The exit status."""
    environment = {**worker.settings(), **IMPATIENT}
    return CliRunner().invoke(app, ["healthcheck", "worker", *options], env=environment).exit_code


def make_old(file: Path) -> None:
    os.utime(file, (time.monotonic() - LONG_AGO,) * 2)


def make_stale(worker: CeleryProcess) -> None:
    make_old(worker.heartbeat_file)


@pytest.fixture
def proxy(server: RedisServer) -> Iterator[TcpProxy]:
    proxy = TcpProxy(server.port)
    yield proxy
    proxy.close()


@pytest.mark.row("EV-16", "EV-11")
def test_a_worker_whose_connections_went_dead_silently_consumes_again(
    make_fleet: Callable[[str], Fleet], proxy: TcpProxy
) -> None:
    fleet = make_fleet(f"redis://127.0.0.1:{proxy.port}/0").start()
    fleet.mark("pod/dead/before")
    eventually(lambda: fleet.diary("pod/dead/before", "ended"))
    [beat], [worker] = fleet.beats, fleet.workers
    beat.signal(signal.SIGSTOP)  # the worker is idle: the only hint that is lost is the one below
    eventually(lambda: fleet.all_acknowledged() and not fleet.redis.exists(SENT))
    proxy.swallow()
    swallowed = time.monotonic()
    fleet.mark("pod/dead/while")  # by another way: the publisher's connection is well
    # the hint is lost with the reply to a BRPOP, and a connection that the worker made anew is as dead
    eventually(lambda: not fleet.redis.llen(routing.LATENCY) and proxy.swallowed > 0)
    proxy.pass_on()
    beat.signal(signal.SIGCONT)
    returned = time.monotonic()
    eventually(lambda: fleet.diary("pod/dead/while", "ended") and fleet.settled(), timeout=60)
    assert returned - swallowed < 60
    eventually(lambda: age(worker.heartbeat_file) < time.monotonic() - returned, timeout=60)
    assert worker.running()


@pytest.mark.row("EV-16")
def test_the_probe_fails_for_a_worker_that_does_not_consume_though_the_broker_answers(
    make_fleet: Callable[[], Fleet], server: RedisServer
) -> None:
    worker = make_fleet().start(beats=0).workers[0]
    assert probe(worker) == 0
    worker.signal(signal.SIGSTOP)
    make_stale(worker)
    assert probe(worker) == 1
    server.kill()
    assert probe(worker) == 0  # a restart would not mend Redis
    assert probe(worker, "--ready") == 1
    server.start()
    assert probe(worker) == 0  # it has a minute to come back
    outage = worker.heartbeat_file.with_name(worker.heartbeat_file.name + ".outage")
    make_old(outage)
    assert probe(worker) == 1
    worker.signal(signal.SIGCONT)
    eventually(lambda: probe(worker) == 0, timeout=30)


@pytest.mark.row("EV-16")
def test_beat_shows_that_it_looks_at_its_schedule_and_no_more_once_it_hangs(make_fleet: Callable[[], Fleet]) -> None:
    fleet = make_fleet().start()
    [beat] = fleet.beats
    file = of_beat(beat.heartbeat_file)
    eventually(file.exists)
    before = file.stat().st_mtime
    eventually(lambda: file.stat().st_mtime > before)
    beat.signal(signal.SIGSTOP)
    time.sleep(1.5)
    stopped = file.stat().st_mtime
    time.sleep(2.5)
    assert file.stat().st_mtime == stopped
    beat.signal(signal.SIGCONT)
    eventually(lambda: file.stat().st_mtime > stopped)
