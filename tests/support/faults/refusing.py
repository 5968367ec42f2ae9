"""A Redis that answers "not now": for real, and where a test cannot bring that about, by a proxy before it."""

from __future__ import annotations

import re
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from threading import Thread

from redis import Redis
from redis.exceptions import RedisError

from compose.sandbox.redis_server import RedisServer
from tests.support.faults.tcp_proxy import TcpProxy
from tests.support.waiting import eventually

COMMAND = re.compile(rb"^\*\d+\r\n\$", re.MULTILINE)


class RefusingProxy(TcpProxy):
    """Passes everything on, unless it has an `answer` of its own for each command."""

    answer = ""

    def welcomed(self, client: socket.socket) -> socket.socket:
        self._clients.add(client)
        return client

    def __init__(self, target: int) -> None:
        self._clients: set[socket.socket] = set()
        super().__init__(target)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def cut(self) -> None:
        """What a failover does to connections."""
        for client in list(self._clients):
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def refusing(self, answer: str) -> Iterator[None]:
        self.answer = answer
        try:
            yield
        finally:
            self.answer = ""

    def _copy(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if self.answer and source in self._clients:
                    source.sendall(f"-{self.answer}\r\n".encode() * len(COMMAND.findall(data)))
                else:
                    sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def client(server: RedisServer) -> Redis:
    return Redis.from_url(server.url, socket_timeout=20)


@contextmanager
def configured(server: RedisServer, name: str, value: object, before: object) -> Iterator[None]:
    with client(server) as redis:
        redis.config_set(name, value)
        try:
            yield
        finally:
            redis.config_set(name, before)


@contextmanager
def unsaved(server: RedisServer) -> Iterator[None]:
    """MISCONF: its file cannot be written, because there is a folder of that name."""
    with client(server) as redis:
        redis.config_set("save", "3600 1000000")
        dump = server.directory / "dump.rdb"
        dump.unlink(missing_ok=True)
        dump.mkdir()
        (dump / "occupied").touch()
        redis.bgsave()
        eventually(lambda: redis.info("persistence")["rdb_last_bgsave_status"] == "err")
        yield
        shutil.rmtree(dump)
        redis.bgsave()
        eventually(lambda: redis.info("persistence")["rdb_last_bgsave_status"] == "ok")
        redis.config_set("save", "")


@contextmanager
def busy(server: RedisServer) -> Iterator[None]:
    def run() -> None:
        with suppress(RedisError), client(server) as redis:
            redis.eval("while true do end", 0)

    with client(server) as redis:
        redis.config_set("busy-reply-threshold", 20)
        script = Thread(target=run)
        script.start()
        eventually(lambda: "BUSY" in answer(redis))
        yield
        redis.script_kill()
        script.join()
        redis.config_set("busy-reply-threshold", 5000)


def answer(redis: Redis) -> str:
    try:
        return str(redis.ping())
    except RedisError as error:
        return str(error)


@contextmanager
def crowded(server: RedisServer) -> Iterator[None]:
    """The connections that it has are closed, and no other is taken."""
    with client(server) as redis:
        before = redis.config_get("maxclients")["maxclients"]
        redis.config_set("maxclients", 1)
        redis.execute_command("CLIENT", "KILL", "TYPE", "NORMAL", "SKIPME", "YES")
        yield
        redis.config_set("maxclients", before)


@contextmanager
def demoted(server: RedisServer) -> Iterator[None]:
    """It is made the replica of nobody that answers, and master again."""
    with client(server) as redis:
        redis.execute_command("REPLICAOF", "127.0.0.1", "1")
        yield
        redis.execute_command("REPLICAOF", "NO", "ONE")


Way = Callable[[RedisServer], AbstractContextManager[None]]
REAL: Mapping[str, Way] = {
    "OOM": lambda server: configured(server, "maxmemory", 1, 0),
    "NOREPLICAS": lambda server: configured(server, "min-replicas-to-write", 1, 0),
    "MISCONF": unsaved,
    "BUSY": busy,
    "max clients": crowded,
}
PLAYED = {
    "LOADING": "LOADING Redis is loading the dataset in memory",
    "MASTERDOWN": "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    "READONLY": "READONLY You can't write against a read only replica.",
    "CLUSTERDOWN": "CLUSTERDOWN The cluster is down",
    "TRYAGAIN": "TRYAGAIN Multiple keys request during rehashing of slot",
    "UNKILLABLE": "UNKILLABLE Sorry the script already executed write commands against the dataset.",
}
