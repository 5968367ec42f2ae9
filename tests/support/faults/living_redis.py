"""A Redis that changes its replication history while its clients stay connected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from redis import Redis

from compose.sandbox.redis_server import RedisServer
from tests.support.waiting import eventually


def history(redis: Redis) -> str:
    info: Any = redis.info("replication")
    return str(info["master_replid"])


def change_history(redis: Redis) -> None:
    """A replica of nobody for a moment, and master again: it keeps its data."""
    before = history(redis)
    redis.replicaof("127.0.0.1", 1)
    redis.replicaof("NO", "ONE")
    assert history(redis) != before


@contextmanager
def replica_of(server: RedisServer, directory: Path) -> Iterator[RedisServer]:
    """Attached and in step. Its master forgets the history a second after it is gone."""
    replica = RedisServer(directory, appendonly=False).start()
    try:
        with Redis.from_url(server.url) as master, Redis.from_url(replica.url) as own:
            master.config_set("repl-diskless-sync-delay", 0)
            master.config_set("repl-backlog-ttl", 1)
            own.replicaof("127.0.0.1", server.port)
            eventually(lambda: master.wait(1, 1000) == 1)
        yield replica
    finally:
        replica.kill()
