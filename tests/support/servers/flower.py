"""Flower as `berthmaster flower` starts it."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import orjson

from compose.sandbox.free_ports import free_port
from compose.sandbox.orphans import end_with_us
from tests.support.waiting import eventually

COMMAND = [sys.executable, "-c", "from workers.cli.main import app; app()", "flower"]
USER, PASSWORD = "ops", "let-me-in"


class Flower:
    def __init__(self, redis_url: str, log: Path) -> None:
        self.port = free_port()
        own = {"BERTHMASTER_CLUSTER": "test", "BERTHMASTER_REDIS__URL": redis_url}
        environment = {**os.environ, **own, "FLOWER_BASIC_AUTH": f"{USER}:{PASSWORD}"}
        with log.open("w") as file:
            command = [*COMMAND, "--port", str(self.port)]
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

    def up(self) -> bool:
        try:
            return self.get("/healthcheck")[0] == HTTPStatus.OK
        except OSError:
            return False

    def tasks(self, name: str) -> list[dict[str, Any]]:
        """Those that have ended."""
        found = orjson.loads(self.get("/api/tasks")[1]).values()
        return [task for task in found if task["name"] == name and task["state"] == "SUCCESS"]

    def table(self) -> list[dict[str, Any]]:
        """What a person sees at /tasks: the columns of its rows."""
        columns = re.findall(r'<th data-column="(\w+)"', self.get("/tasks")[1])
        asked = "draw=1&start=0&length=100&order[0][column]=0&order[0][dir]=asc&columns[0][data]=name"
        rows = orjson.loads(self.get(f"/tasks/datatable?{asked}")[1])["data"]
        return [{name: row[name] for name in columns} for row in rows]


@contextmanager
def running(redis_url: str, log: Path) -> Iterator[Flower]:
    """Until it is left."""
    flower = Flower(redis_url, log)
    try:
        eventually(flower.up)
        yield flower
    finally:
        flower.process.kill()
        flower.process.wait()
