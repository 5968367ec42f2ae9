"""Flower as `berthmaster flower` starts it."""

from __future__ import annotations

import base64
import gzip
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import orjson

from compose.sandbox.free_ports import free_port
from compose.sandbox.orphans import end_with_us
from tests.support.waiting import eventually

COMMAND = [sys.executable, "-c", "from workers.cli.main import app; app()", "flower"]
USER, VIEWER, PASSWORD = "ops", "guest", "let-me-in"


class Reply(NamedTuple):
    """Status, headers by their names in small letters, and body."""

    status: int
    headers: dict[str, str]
    body: bytes


class Flower:
    """`arguments` are added to the command, `environment` to its variables; one that is empty is left out."""

    def __init__(self, redis_url: str, log: Path, *arguments: str, prefix: str = "", **environment: str) -> None:
        self.port, self.prefix = free_port(), prefix
        own = {"BERTHMASTER_CLUSTER": "test", "BERTHMASTER_REDIS__URL": redis_url}
        users = f"{USER}:{PASSWORD},{VIEWER}:{PASSWORD}"
        environment = {**os.environ, **own, "FLOWER_BASIC_AUTH": users, **environment}
        environment = {name: value for name, value in environment.items() if value}
        with log.open("w") as file:
            command = [*COMMAND, "--port", str(self.port), *arguments]
            self.process = subprocess.Popen(command, env=environment, stdout=file, stderr=file)
        end_with_us(self.process)

    def get(self, path: str, known: bool = True) -> tuple[int, str]:
        secret = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        request = Request(
            f"http://127.0.0.1:{self.port}{path}", headers={"Authorization": f"Basic {secret}"} if known else {}
        )
        try:
            with urlopen(request, timeout=5) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as refused:
            with refused:
                return refused.code, ""

    def ask(self, method: str, path: str, user: str | None = USER, body: Any = None, **headers: str) -> Reply:
        """Send a request, and follow no redirection. `user`: None sends no password. `body` is sent as JSON."""
        if user is not None:
            headers["Authorization"] = "Basic " + base64.b64encode(f"{user}:{PASSWORD}".encode()).decode()
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, None if body is None else orjson.dumps(body), headers)
            response = connection.getresponse()
            return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def board(self) -> dict[str, Any]:
        """What `/fleet/board` says."""
        document: dict[str, Any] = orjson.loads(gzip.decompress(self.ask("GET", "/fleet/board").body))
        return document

    def up(self) -> bool:
        try:
            return self.get(f"{self.prefix}/healthcheck")[0] == HTTPStatus.OK
        except OSError:
            return False

    def tasks(self, name: str) -> list[dict[str, Any]]:
        """Those that have ended."""
        found = orjson.loads(self.get("/api/tasks")[1]).values()
        return [task for task in found if task["name"] == name and task["state"] in ("SUCCESS", "FAILURE")]

    def table(self) -> list[dict[str, Any]]:
        """What a person sees at /tasks: the columns of its rows."""
        columns = re.findall(r'<th data-column="(\w+)"', self.get("/tasks")[1])
        asked = "draw=1&start=0&length=100&order[0][column]=0&order[0][dir]=asc&columns[0][data]=name"
        rows = orjson.loads(self.get(f"/tasks/datatable?{asked}")[1])["data"]
        return [{name: row[name] for name in columns} for row in rows]


@contextmanager
def running(redis_url: str, log: Path, *arguments: str, prefix: str = "", **environment: str) -> Iterator[Flower]:
    """Until it is left."""
    flower = Flower(redis_url, log, *arguments, prefix=prefix, **environment)
    try:
        eventually(flower.up, timeout=90)
        yield flower
    finally:
        flower.process.kill()
        flower.process.wait()
