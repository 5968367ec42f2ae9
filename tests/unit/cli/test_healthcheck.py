"""The probes of publisher, beat and Flower; that of a worker is in tests/integration/worker."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner

from compose.sandbox.free_ports import free_port
from workers.cli.main import app
from workers.telemetry.heartbeat import beat


class Answers(BaseHTTPRequestHandler):
    """Alive, and not ready."""

    def do_GET(self) -> None:
        well = self.path in ("/livez", "/healthcheck")
        self.send_response(200 if well else 503)
        self.end_headers()
        self.wfile.write(self.path.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature of http.server
        """Nobody reads it."""


@pytest.fixture
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


def probe(*arguments: str, **variables: str) -> tuple[int, str]:
    environment = {"BERTHMASTER_CLUSTER": "blue", "HTTP_PROXY": "http://127.0.0.1:1", **variables}
    done = CliRunner().invoke(app, ["healthcheck", *arguments], env=environment)
    return done.exit_code, done.output.strip()


@pytest.mark.row("EV-16")
def test_the_publisher_is_asked_what_it_says_of_itself(port: int) -> None:
    settings = {"BERTHMASTER_PUBLISHER__HEALTH_PORT": str(port)}
    assert probe("publisher", **settings) == (0, "/livez")
    assert probe("publisher", "--ready", **settings) == (1, "/readyz")


@pytest.mark.row("EV-16")
def test_flower_is_asked_whether_it_answers(port: int) -> None:
    assert probe("flower", "--port", str(port)) == (0, "/healthcheck")


@pytest.mark.row("EV-16")
@pytest.mark.parametrize("name", ["publisher", "flower"])
def test_who_does_not_answer_is_not_well(name: str) -> None:
    free = str(free_port())
    options = ["--port", free] if name == "flower" else []
    status, said = probe(name, *options, BERTHMASTER_PUBLISHER__HEALTH_PORT=free)
    assert (status, said.startswith(f"no answer on port {free}")) == (1, True)


@pytest.mark.row("EV-16")
def test_beat_has_a_file_of_its_own(tmp_path: Path) -> None:
    of_worker, of_beat = tmp_path / "heartbeat", tmp_path / "heartbeat.beat"
    settings = {"BERTHMASTER_CELERY__HEARTBEAT_FILE": str(of_worker)}
    beat(of_worker)
    beat(of_beat)
    status, said = probe("beat", **settings)
    assert (status, said.startswith("sent every tick in time ")) == (0, True)
    long_ago = time.monotonic() - 120
    os.utime(of_beat, (long_ago, long_ago))
    away = f"redis://127.0.0.1:{free_port()}/0"
    assert probe("beat", "--ready", BERTHMASTER_REDIS__URL=away, **settings)[0] == 1
    assert probe("beat", BERTHMASTER_REDIS__URL=away, **settings)[0] == 0  # no restart mends a broker
    assert probe("worker", "--ready", BERTHMASTER_REDIS__URL=away, **settings)[0] == 0
