"""Worker and beat processes for tests: started as users start them, ended by signals."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from berthmaster.redis.unusable import UNUSABLE
from tests.support.servers import forked
from tests.support.waiting import eventually

PROBE = "tests.support.servers.probe_tasks"
QUIET = ("--without-gossip", "--without-mingle")


@dataclass
class CeleryProcess:
    """One process with its own log; `environment` adds settings by their variables."""

    kind: str  # worker or beat
    name: str
    directory: Path
    redis_url: str
    environment: Mapping[str, str] = field(default_factory=dict)
    options: Sequence[str] = ()
    application: str = PROBE
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> CeleryProcess:
        """Returns at once: `ready` waits."""
        self.directory.mkdir(parents=True, exist_ok=True)
        arguments = ["celery", "-A", self.application, self.kind, *self.own_options(), *self.options]
        self.process = forked.start(arguments, {**os.environ, **self.settings(), **self.environment}, self.log_file)
        return self

    def own_options(self) -> list[str]:
        return [*QUIET, "--hostname", f"{self.name}@test"] if self.kind == "worker" else []

    def settings(self) -> dict[str, str]:
        return {
            "BERTHMASTER_CLUSTER": "test",
            "BERTHMASTER_REDIS__URL": self.redis_url,
            "BERTHMASTER_LOG__FORMAT": "json",
            "BERTHMASTER_CELERY__HEARTBEAT_FILE": str(self.heartbeat_file),
        }

    @property
    def log_file(self) -> Path:
        return self.directory / f"{self.name}.log"

    @property
    def heartbeat_file(self) -> Path:
        return self.directory / f"{self.name}.heartbeat"

    def ready(self, timeout: float = 40) -> CeleryProcess:
        """Waits until the worker consumes (a beat: until it has said that it starts)."""
        if self.kind == "worker":
            eventually(lambda: self.running() and self.heartbeat_file.exists(), timeout)
        else:
            eventually(lambda: b"is starting" in self.log_file.read_bytes(), timeout)
        return self

    def running(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"{self.name} ended with {self.process.returncode}: {self.tail()}"
        return True

    def refuses_its_redis(self) -> str:
        """Start it. Returns what it says before it ends because its Redis must not be used."""
        self.start()
        try:
            assert self.process
            assert self.process.wait(60) == UNUSABLE, self.tail()
        finally:
            self.kill()
        return self.tail()

    def tail(self) -> str:
        return self.log_file.read_text(errors="replace")[-3000:]

    def log_lines(self) -> list[dict[str, Any]]:
        """The lines that are JSON (Celery also prints a banner)."""
        lines = self.log_file.read_bytes().splitlines()
        return [orjson.loads(line) for line in lines if line.startswith(b"{") and line.endswith(b"}")]

    def signal(self, number: int) -> None:
        assert self.process is not None
        os.kill(self.process.pid, number)

    def kill(self) -> None:
        """SIGKILL to it and its children."""
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(10)

    def terminate(self, timeout: float = 90) -> int:
        """SIGTERM; its exit status."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(timeout)
