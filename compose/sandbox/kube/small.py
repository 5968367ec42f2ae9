"""The sandbox's own API server as a process: for tests, and for whoever else starts one from Python."""

from __future__ import annotations

import json
import secrets
import shutil
import sys
import urllib.request
from pathlib import Path
from typing import Any

from compose.sandbox.daemon import Daemon
from compose.sandbox.free_ports import free_port
from compose.sandbox.kube.server import KubeServer

Json = dict[str, Any]


class SmallKube(KubeServer):
    name = "sandbox"
    ca_file = None

    def __init__(self, directory: Path, *options: str, port: int | None = None) -> None:
        """`options` of `python -m compose.sandbox.kube`. The objects survive a restart."""
        self.directory, self.port = directory, port or free_port()
        self.journal = directory / "objects.jsonl"
        self.url = f"http://127.0.0.1:{self.port}"
        self.token, self.other_token = secrets.token_hex(8), secrets.token_hex(8)
        # kubectl sends no credentials over plain HTTP: none mean the administrator.
        users = [f"--user={user}" for user in (f"admin={self.token}", "admin=", f"nobody={self.other_token}")]
        command = [sys.executable, "-m", "compose.sandbox.kube", "--port", str(self.port), "--data", str(directory)]
        self.daemon = Daemon("kube", [*command, *users, *options], directory)

    @property
    def daemons(self) -> list[Daemon]:
        return [self.daemon]

    def start(self) -> SmallKube:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.write_kubeconfig()
        self.daemon.start(lambda: self.serves("/api/v1/namespaces/default"))
        return self

    def stop(self) -> None:
        self.daemon.stop()

    def compact(self) -> None:
        self.fault("compact")

    def backup(self) -> None:
        shutil.copy(self.journal, self.journal.with_suffix(".backup"))

    def restore(self) -> None:
        self.daemon.kill()
        shutil.copy(self.journal.with_suffix(".backup"), self.journal)
        self.start()

    def fault(self, kind: str, **limits: Any) -> None:
        """Sets a fault; see `compose.sandbox.kube.faults.Fault` for kinds and limits."""
        self.ask("POST", "/_faults", {"fault": kind, **limits})

    def heal(self) -> None:
        """Clears all faults."""
        self.ask("DELETE", "/_faults")

    def faults(self) -> list[Json]:
        """Those that are set, with how often each was `used`."""
        return list(self.ask("GET", "/_faults"))

    def requests(self) -> list[Json]:
        """What was asked since the start: `{client, verb, group, resource, count}`."""
        return list(self.ask("GET", "/_requests"))

    def ask(self, method: str, path: str, body: Json | None = None) -> Any:
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)
