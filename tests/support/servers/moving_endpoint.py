"""A primary without an append-only file, a replica, and an address that moves to the replica once it is promoted.

So do the endpoints of managed offers, without Sentinel. The replica follows through a proxy, so that a test decides
from when on it misses writes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from redis import Redis

from compose.sandbox.redis_server import RedisServer
from tests.support.faults.tcp_proxy import TcpProxy
from tests.support.waiting import eventually


class MovingEndpoint:
    """`proxied` makes the proxy before a port; USER and `password` are for clients, the default user has the same."""

    USER = "shop"

    def __init__(self, directory: Path, password: str = "", proxied: Callable[[int], TcpProxy] = TcpProxy) -> None:
        self.servers = [RedisServer(directory / n, appendonly=False, password=password) for n in ("one", "two")]
        self.password, self._proxied = password, proxied

    def start(self) -> MovingEndpoint:
        """Returns when the replica is in step."""
        for server in self.servers:
            server.start()
        primary, replica = self.servers
        self.link, self.endpoint = TcpProxy(primary.port), self._proxied(primary.port)
        with Redis.from_url(primary.url) as master, Redis.from_url(replica.url) as own:
            for client in (master, own) if self.password else ():
                client.acl_setuser(self.USER, enabled=True, passwords=f"+{self.password}", keys="*", commands=["+@all"])
                client.config_set("masterauth", self.password)
            master.config_set("repl-diskless-sync-delay", 0)
            own.replicaof("127.0.0.1", self.link.port)
        self.in_step()
        return self

    def in_step(self) -> None:
        """Returns when the replica has all that the primary was told before."""
        with Redis.from_url(self.servers[0].url) as master:
            eventually(lambda: master.set("in-step", 1) and master.wait(1, 1000) == 1)  # WAIT is of its own writes

    def stop(self) -> None:
        self.endpoint.close()
        self.link.close()
        for server in self.servers:
            server.kill()

    @property
    def url(self) -> str:
        who = f"{self.USER}:{quote(self.password, safe='')}@" if self.password else ""
        return f"redis://{who}127.0.0.1:{self.endpoint.port}/0"

    def lose_writes(self) -> None:
        """What the primary is told from now on is lost in a failover."""
        self.in_step()
        self.link.swallow()

    def promote(self) -> None:
        """The replica becomes a primary, and the address leads there; the old one lives, with its connections."""
        replica = self.servers[1]
        with Redis.from_url(replica.url) as own:
            own.replicaof("NO", "ONE")
        self.endpoint.lead_to(replica.port)

    def fail_over(self) -> None:
        """The primary dies."""
        self.servers[0].kill()
        self.promote()
