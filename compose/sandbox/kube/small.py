"""The sandbox's own API server as a process, for tests and other Python code."""

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
    """The sandbox's own API server, with faults on demand."""

    name = "sandbox"
    ca_file = None

    def __init__(self, directory: Path, *options: str, port: int | None = None) -> None:
        """`options`: of `python -m compose.sandbox.kube`. `port`: None picks one. The objects survive a restart."""
        self.directory, self.port = directory, port or free_port()
        self.journal = directory / "objects.jsonl"
        self.url = f"http://127.0.0.1:{self.port}"
        self.token, self.other_token = secrets.token_hex(8), secrets.token_hex(8)
        # kubectl sends no credentials over plain HTTP, so a request without credentials is the administrator's.
        users = [f"--user={user}" for user in (f"admin={self.token}", "admin=", f"nobody={self.other_token}")]
        command = [sys.executable, "-m", "compose.sandbox.kube", "--port", str(self.port), "--data", str(directory)]
        self.daemon = Daemon("kube", [*command, *users, *options], directory)

    @property
    def daemons(self) -> list[Daemon]:
        """The only process."""
        return [self.daemon]

    def start(self) -> SmallKube:
        """Start with the objects of the journal."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.write_kubeconfig()
        self.daemon.start(lambda: self.serves("/api/v1/namespaces/default"))
        return self

    def stop(self) -> None:
        """Stop the process."""
        self.daemon.stop()

    def compact(self) -> None:
        """Forget every version before the present one."""
        self.fault("compact")

    def backup(self) -> None:
        """Copy the journal."""
        shutil.copy(self.journal, self.journal.with_suffix(".backup"))

    def restore(self) -> None:
        """Kill the process, replace the journal by its copy, and start."""
        self.daemon.kill()
        shutil.copy(self.journal.with_suffix(".backup"), self.journal)
        self.start()

    def fault(self, kind: str, **limits: Any) -> None:
        """Set a fault. `compose.sandbox.kube.faults.ApiFault` has the kinds and limits."""
        self.ask("POST", "/_faults", {"fault": kind, **limits})

    def heal(self) -> None:
        """Clear all faults."""
        self.ask("DELETE", "/_faults")

    def faults(self) -> list[Json]:
        """Return the faults that are set. `used`: how often each has happened."""
        return list(self.ask("GET", "/_faults"))

    def requests(self) -> list[Json]:
        """Return the number of requests since the start: `{client, verb, group, resource, count, bytes}`."""
        return list(self.ask("GET", "/_requests"))

    def ask(self, method: str, path: str, body: Json | None = None) -> Any:
        """Send a request beside the API, such as `/_faults`, and return its JSON."""
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)
