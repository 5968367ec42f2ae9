"""Every process ends within its grace after SIGTERM, at whatever moment it comes and whatever the process waits for.

CI stops a beat a hundred times and the others some times; before a release, all of them, as docs/contributing.md says.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from compose.sandbox.free_ports import free_port
from compose.sandbox.redis_server import RedisServer
from tests.support.faults.tcp_proxy import TcpProxy
from tests.support.servers.nursery import Child, Nursery
from tests.support.waiting import eventually
from workers.cli.processes import beat_command, flower_command, worker_command
from workers.settings import WorkerSettings

SEED: Final = 13
STOPS: Final = int(os.environ.get("BERTHMASTER_CHAOS_STOPS", "12"))
TOGETHER: Final = 6
LATEST: Final = 4.0
"""Seconds after its start in which a process is stopped: in the middle of it, or soon after."""
SETTINGS: Final = WorkerSettings(cluster="test")
RUNNER: Final = ("celery", "-A", "tests.support.jobs.runner_app", "worker", "-P", "threads", "-c", "2")


class Program(NamedTuple):
    """`grace`: what deploy/ gives its pod. A beat costs so little that CI stops it a hundred times."""

    arguments: list[str]
    grace: float
    stops: int = STOPS


PROGRAMS: Final = {
    "publisher": Program(["events"], 45),
    "worker": Program(worker_command(SETTINGS, 4, "threads", []).arguments[1:], 60),
    "prefork": Program(worker_command(SETTINGS, 2, "prefork", []).arguments[1:], 60),
    "beat": Program(beat_command([]).arguments[1:], 15, max(STOPS, 100)),
    "flower": Program(flower_command("127.0.0.1", 0, []).arguments[1:], 15),
    "runner": Program(list(RUNNER), 120),  # without a job; the example's pod has 600
}


class Places:
    """A Redis that answers, addresses that accept and never answer, one that refuses, and some that fall silent."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.server = directory, RedisServer(directory / "redis").start()
        self.silent = TcpProxy(self.server.port)
        self.silent.swallow()
        self.proxies = [self.silent]

    def redis(self, chance: random.Random) -> tuple[str, TcpProxy | None]:
        """Its address, and what is to fall silent at the moment of the stop."""
        falls = TcpProxy(self.server.port)
        self.proxies.append(falls)
        where = {self.server.port: None, self.silent.port: None, free_port(): None, falls.port: falls}
        port = chance.choice(list(where))
        return f"redis://127.0.0.1:{port}/0", where[port]

    def environment(self, redis: str, name: str) -> dict[str, str]:
        return {
            "BERTHMASTER_CLUSTER": "test",
            "BERTHMASTER_REDIS__URL": redis,
            "BERTHMASTER_KUBERNETES__SERVER": f"http://127.0.0.1:{self.silent.port}",
            "BERTHMASTER_PUBLISHER__HEALTH_HOST": "127.0.0.1",
            "BERTHMASTER_PUBLISHER__HEALTH_PORT": "0",
            "BERTHMASTER_CELERY__HEARTBEAT_FILE": str(self.directory / f"{name}.heartbeat"),
            "BERTHMASTER_RUNNER__REDIS__URL": redis,
            "BERTHMASTER_RUNNER__POOL": "ci/runners",
            "BERTHMASTER_RUNNER__POD": name,
            "BERTHMASTER_RUNNER__UID": name,
            "BERTHMASTER_RUNNER__SPOOL": str(self.directory / name),
            "FLOWER_BASIC_AUTH": "ann:secret",
        }

    def close(self) -> None:
        for proxy in self.proxies:
            proxy.close()
        self.server.kill()


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    places = Places(tmp_path_factory.mktemp("stops"))
    yield places
    places.close()


@pytest.fixture(scope="module")
def nurseries() -> Iterator[Mapping[str, Nursery]]:
    """One for prefork, whose signals Celery chooses while it is imported."""
    ordinary, prefork = Nursery({}), Nursery({"REMAP_SIGTERM": "SIGQUIT"})
    yield {**dict.fromkeys(PROGRAMS, ordinary), "prefork": prefork}
    ordinary.close()
    prefork.close()


@pytest.mark.row("TM-05")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_process_that_is_stopped_at_any_moment_ends_within_its_grace(
    places: Places, nurseries: Mapping[str, Nursery], kind: str
) -> None:
    program, chance = PROGRAMS[kind], random.Random(f"{SEED} {kind}")
    for first in range(0, program.stops, TOGETHER):
        names = [f"{kind}-{number}" for number in range(first, min(first + TOGETHER, program.stops))]
        stuck = stop_some(places, nurseries[kind], program, names, chance)
        assert stuck == {}


def stop_some(
    places: Places, nursery: Nursery, program: Program, names: list[str], chance: random.Random
) -> dict[str, str]:
    """Those that did not end in time, with the end of what they wrote."""
    children: list[tuple[float, str, Child, TcpProxy | None]] = []
    for name in names:
        address, falls = places.redis(chance)
        environment, log = os.environ | places.environment(address, name), places.directory / f"{name}.log"
        children.append((chance.uniform(0, LATEST), name, nursery.start(program.arguments, environment, log), falls))
    began = time.monotonic()
    for moment, _, child, falls in sorted(children, key=lambda each: each[0]):
        time.sleep(max(0.0, began + moment - time.monotonic()))  # the moment is what the test is about
        if falls:
            falls.swallow()
        child.signal(signal.SIGTERM)
    stuck = {name: log_of(places, name) for _, name, child, _ in children if not child.ended(program.grace)}
    for _, name, child, _ in children:
        if name in stuck:
            child.signal(signal.SIGKILL)
        child.status()
    return stuck


def log_of(places: Places, name: str) -> str:
    return (places.directory / f"{name}.log").read_text(errors="replace")[-2000:]


@pytest.mark.row("TM-05")
def test_a_signal_during_the_start_is_not_lost(tmp_path: Path) -> None:
    """The first process of a container gets none that it has no handler for; 0 tells that a handler took it."""
    command = [sys.executable, "-c", "from workers.cli.main import app; app()", "beat"]
    log = (tmp_path / "log").open("wb")
    process = subprocess.Popen(command, env={**os.environ, "BERTHMASTER_CLUSTER": "test"}, stdout=log, stderr=log)
    arguments = Path(f"/proc/{process.pid}/cmdline")
    try:
        eventually(lambda: b"workers.cli.launch" in arguments.read_bytes())  # empty while an exec is on its way
        process.terminate()
        assert process.wait(15) == 0
    finally:
        process.kill()
        log.close()
