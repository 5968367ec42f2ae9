"""Every command of compose/compose.yaml as a process, from the file's own text: there is no Docker here.

Addresses become ports of the loopback, mounted folders those of the repository, and conditions are waited for.
"""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from redis import Redis

from berthmaster.redis.outage import OUTAGE
from compose.sandbox.daemon import Daemon
from compose.sandbox.environment import cut_off
from compose.sandbox.free_ports import free_port
from compose.sandbox.redis_server import server_executable
from compose.sandbox.workload import PODS
from events.kube.api import KubeApi
from events.settings import KubernetesSettings
from tests.support.waiting import eventually

FOLDER = Path(__file__).parents[2] / "compose"
SERVICES: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
STARTED = [name for name, service in SERVICES.items() if "profiles" not in service]
CHOSEN = {"REDIS_PASSWORD": "secret", "FLOWER_BASIC_AUTH": "people:secret"}
SERVED = {"redis": "6379", "kubernetes": "8001", "aws": "4566", "publisher": "8081", "flower": "5555"}
"""The port of each server in its container."""
ANYWHERE = "0.0.0.0"  # noqa: S104 - only replaced; nothing listens on it
METRICS = "9090"
"""The port of the metrics of each process of ours."""
PATIENCE = 120  # seconds


class Composed:
    """The services as processes, one of each."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ports = {name: str(free_port()) for name in SERVED}
        self.daemons: dict[str, Daemon] = {}

    def up(self, name: str) -> None:
        """Starts a service after those that it needs, once."""
        if name in self.daemons:
            return
        for needed, how in SERVICES[name].get("depends_on", {}).items():
            self.up(needed)
            reached = {"service_healthy": self.healthy, "service_completed_successfully": self.completed}
            eventually(partial(reached[how["condition"]], needed), PATIENCE)
        (self.directory / name).mkdir()
        self.daemons[name] = Daemon(name, self.command(name), self.directory, self.environment(name))
        self.daemons[name].launch()

    def command(self, name: str) -> list[str]:
        service = SERVICES[name]
        words = self.here(name, [*service.get("entrypoint", ["berthmaster"]), *service["command"]])
        if name == "redis":  # the first words are an entrypoint that it does not have, and its server
            place = ["--bind", "127.0.0.1", "--port", self.ports["redis"], "--dir", str(self.directory / name)]
            return [server_executable(), *words[2:], *place]
        return [str(Path(sys.executable).parent / words[0]), *words[1:]]

    def environment(self, name: str) -> dict[str, str]:
        """What the service is given, on top of what has nothing of ours."""
        given = SERVICES[name].get("environment", {})
        values = self.here(name, given.values())
        environment = dict(os.environ)
        cut_off(environment)
        return environment | dict(zip(given, values, strict=True)) | {"TMPDIR": str(self.directory / name)}

    def here(self, name: str, words: Any) -> list[str]:
        """The words, for this machine."""
        return [self.word(name, word) for word in words]

    def word(self, name: str, word: str) -> str:
        word = re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: CHOSEN[found[1]], word)
        for server, port in SERVED.items():
            word = re.sub(rf"\b({server}|127\.0\.0\.1):{port}\b", f"127.0.0.1:{self.ports[server]}", word)
            word = self.ports[server] if (server, port) == (name, word) else word
        word = re.sub(r"^/tmp\b", str(self.directory / name), word)
        for mounted in SERVICES[name].get("volumes", []):  # last, as the repository may be below /tmp
            source, target, *_ = mounted.split(":")
            word = str(FOLDER / source) if word == target else word
        return {ANYWHERE: "127.0.0.1", METRICS: str(free_port())}.get(word, word)

    def healthy(self, name: str) -> bool:
        """As the service's own health check says."""
        kind, *words = SERVICES[name]["healthcheck"]["test"]
        if kind == "CMD-SHELL":
            return self.ping()
        command = [str(Path(sys.executable).parent / words[0]), *self.here(name, words[1:])]
        done = subprocess.run(command, env=self.daemons[name].env, check=False, capture_output=True, text=True)
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}{self.daemons[name].tail()}"
        return True

    def ping(self) -> bool:
        """What the health check of Redis does, whose program only its image has."""
        redis = Redis(port=int(self.ports["redis"]), password=CHOSEN["REDIS_PASSWORD"])
        with redis, suppress(*OUTAGE):
            return bool(redis.ping())
        return False

    def completed(self, name: str) -> bool:
        process = self.daemons[name].process
        assert process
        assert process.poll() in (None, 0), self.daemons[name].tail()
        return process.poll() == 0

    def log(self, name: str) -> str:
        return self.daemons[name].log.read_text()

    def down(self) -> None:
        for daemon in reversed(self.daemons.values()):
            daemon.stop()


@pytest.fixture
def composed(tmp_path: Path) -> Iterator[Composed]:
    started = Composed(tmp_path)
    try:
        for name in STARTED:
            started.up(name)
        yield started
    finally:
        started.down()


@pytest.mark.row("ST-36")
def test_it_ends_with_pods_that_have_ports_jobs_that_ran_and_a_page_to_look_at(composed: Composed) -> None:
    eventually(lambda: "look at the fleet: " in composed.log("demo"), PATIENCE, 0.2)
    assert "jobs: 1 cancelled, 5 succeeded" in composed.log("demo")
    assert "claims: 2 Bound" in composed.log("demo")
    api = KubeApi.connect(KubernetesSettings(server=f"http://127.0.0.1:{composed.ports['kubernetes']}"))
    states = [pod["metadata"]["annotations"].get("berthmaster.dev/ports-state") for pod in api.list(PODS)["items"]]
    api.close()
    assert states.count("Bound") >= 8  # of 12, of which up to three are being replaced
    checked = [name for name in STARTED if not SERVICES[name]["healthcheck"].get("disable")]
    assert {"publisher", "worker", "beat", "flower", "aws", "kubernetes"} < set(checked)
    for name in checked:
        assert eventually(partial(composed.healthy, name), PATIENCE), name
    request = urllib.request.Request(f"http://127.0.0.1:{composed.ports['flower']}/fleet")
    request.add_header("Authorization", "Basic " + base64.b64encode(CHOSEN["FLOWER_BASIC_AUTH"].encode()).decode())
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert "<title>Fleet" in answer.read().decode()
