"""Passwords and tokens are in no line that a process writes, however much it logs and whatever goes wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from berthmaster.redis.incarnation import connect
from compose.sandbox.free_ports import free_port
from compose.sandbox.redis_server import RedisServer
from tests.support.waiting import eventually

PASSWORD, TOKEN, KEY = "pa55-of-redis", "t0ken-of-kubernetes", "k3y-of-aws"
SECRETS = (PASSWORD, TOKEN, KEY)
COMMANDS = (("doctor",), ("status",), ("audit",))
PROCESSES = (("worker", "-c", "1", "-P", "solo", "-l", "DEBUG"), ("beat",), ("publisher",))
ENOUGH = 500
"""Bytes: that nothing answers has been said."""
PATIENCE = 60.0


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a Redis with another password than ours."""
    server = RedisServer(tmp_path_factory.mktemp("guarded")).start()
    connect(server.url).config_set("requirepass", "another")
    yield server.port
    server.kill()


@pytest.fixture(params=["unreachable", "refused", "no sense"])
def places(request: pytest.FixtureRequest, guarded: int, tmp_path: Path) -> dict[str, str]:
    """Where everything is, and how it does not answer."""
    where = {
        "unreachable": "127.0.0.1:1",
        "refused": f"127.0.0.1:{guarded}",
        "no sense": "127.0.0.1:port",
    }[request.param]
    url = f"redis://berthmaster:{PASSWORD}@{where}/0"
    return {
        "BERTHMASTER_CLUSTER": "blue",
        "BERTHMASTER_REDIS__URL": url,
        "BERTHMASTER_BROKER__URL": f"{url[:-1]}1",
        "BERTHMASTER_SLOTS__RUNNER_REDIS_URL": url,
        "BERTHMASTER_KUBERNETES__SERVER": "http://127.0.0.1:1",
        "BERTHMASTER_KUBERNETES__TOKEN": TOKEN,
        "BERTHMASTER_AWS__ENDPOINT_URL": "http://127.0.0.1:1",
        "BERTHMASTER_LOG__LEVEL": "DEBUG",
        "BERTHMASTER_LOG__FORMAT": "json",
        "BERTHMASTER_CELERY__HEARTBEAT_FILE": str(tmp_path / "heartbeat"),
        "BERTHMASTER_PUBLISHER__HEALTH_PORT": str(free_port()),
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": KEY,
    }


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from workers.cli.main import app; app()", *arguments]


def leaks(text: str) -> list[str]:
    return [line[:500] for line in text.splitlines() if any(secret in line for secret in SECRETS)]


@pytest.mark.row("EV-17")
def test_no_command_says_a_secret(places: dict[str, str]) -> None:
    running = [
        subprocess.Popen(
            command(*arguments),
            env={**os.environ, **places},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for arguments in COMMANDS
    ]
    said = [process.communicate(timeout=100)[0] for process in running]
    assert [leaks(text) for text in said] == [[] for _ in COMMANDS]
    assert all(said)


@pytest.mark.row("EV-17")
def test_no_process_logs_a_secret(places: dict[str, str], tmp_path: Path) -> None:
    running = []
    for number, arguments in enumerate(PROCESSES):
        with (tmp_path / f"{number}.log").open("wb") as log:
            settings = {**os.environ, **places}
            running.append(subprocess.Popen(command(*arguments), env=settings, stdout=log, stderr=log))

    def said() -> list[str]:
        return [(tmp_path / f"{number}.log").read_text(errors="replace") for number in range(len(PROCESSES))]

    def enough() -> bool:
        ended = [process.poll() is not None for process in running]
        return all(end or len(text) > ENOUGH for end, text in zip(ended, said(), strict=True))

    try:
        eventually(enough, timeout=PATIENCE)
    finally:
        for process in running:
            process.kill()
            process.wait(5)
    assert [leaks(text) for text in said()] == [[] for _ in PROCESSES]
    assert all(said())
