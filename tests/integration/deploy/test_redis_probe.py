"""The liveness probe of the Redis that deploy/ brings, against real servers: an endless script ends in a restart."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from redis.exceptions import RedisError

from berthmaster.redis.incarnation import connect
from compose.sandbox.redis_server import RedisServer
from tests.support.deployed import DEPLOY
from tests.support.waiting import eventually

OBJECTS = list(yaml.safe_load_all((DEPLOY / "components" / "redis" / "redis.yaml").read_text()))
[CONTAINER] = next(b for b in OBJECTS if b["kind"] == "StatefulSet")["spec"]["template"]["spec"]["containers"]
CLI = """#!PYTHON
import os, socket
with socket.create_connection(("127.0.0.1", int(os.environ["SERVER"])), 5) as at:
    at.sendall(b"AUTH " + os.environb[b"REDISCLI_AUTH"] + bytes([13, 10]) + b"PING" + bytes([13, 10]))
    lines = at.makefile()
    assert lines.readline().strip() == "+OK"
    print(lines.readline().strip()[1:])
"""
"""Of valkey-cli, which the tests do not have: signs in as REDISCLI_AUTH says, and prints the answer or the refusal."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    cli = tmp_path / "bin" / "valkey-cli"
    cli.parent.mkdir()
    cli.write_text(CLI.replace("PYTHON", sys.executable, 1))
    cli.chmod(0o755)
    made = RedisServer(tmp_path, password="p").start()
    yield made
    made.kill()


def alive(server: RedisServer) -> bool:
    places = {"PATH": f"{server.directory / 'bin'}:{os.environ['PATH']}", "SERVER": str(server.port)}
    command = CONTAINER["livenessProbe"]["exec"]["command"]
    return subprocess.run(command, check=False, env={**places, "REDIS_PASSWORD": "p"}).returncode == 0


@pytest.mark.row("HO-05")
def test_a_server_that_an_endless_script_stops_is_not_alive_and_any_other_is(server: RedisServer) -> None:
    assert alive(server)
    admin: Any = connect(server.url)
    admin.config_set("busy-reply-threshold", 50)

    def run() -> None:
        with suppress(RedisError):
            connect(server.url).eval("while true do end", 0)

    script = threading.Thread(target=run)
    script.start()
    eventually(lambda: not alive(server))
    admin.script_kill()
    script.join()
    eventually(lambda: alive(server))


@pytest.mark.row("HO-05", "HO-12")
def test_the_server_of_deploy_has_the_fixes_and_a_password() -> None:
    version = tuple(map(int, CONTAINER["image"].rpartition(":")[2].partition("-")[0].split(".")))
    assert version >= (8, 1, 4)
    assert '--requirepass "${REDIS_PASSWORD:?' in CONTAINER["command"][2]
    probe = CONTAINER["livenessProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] >= 60
