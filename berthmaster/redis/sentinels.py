"""The master that sentinels name, and connections that leave a server as soon as it is no longer the master.

redis-py does most of it. This module adds:

- redis-py's connections ask the sentinels only when the pool hands them out. A connection lost in the middle of a
command is reopened to its old address, which is wrong after a failover. Here it asks the sentinels again.

- A demoted master answers reads for ever, and a master cut off from its replicas may believe that it is still the
master. So a connection leaves a server that does not call itself master, or that refuses a command (see refusals).
"""

from __future__ import annotations

from copy import copy
from typing import Any

from redis.backoff import NoBackoff
from redis.credentials import UsernamePasswordCredentialProvider
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel, SentinelConnectionPool, SentinelManagedConnection

from berthmaster.redis.address import SentinelAddress
from berthmaster.redis.refusals import Refusable

PATIENCE = 1.0
"""Seconds for one sentinel: there are others, and callers may try several times."""


class Hidden(UsernamePasswordCredentialProvider):
    """User and password of the sentinels, hidden from anybody to whom Celery shows the transport options.

    Workers show these options on request, and to Flower; text of any kind would not stay secret there.
    """

    def __repr__(self) -> str:
        return "hidden"

    def __json__(self) -> str:
        return repr(self)


class Sentinels(Sentinel):
    """The sentinels of one address. Threads may share them."""

    def discover_master(self, service_name: str) -> tuple[str, int]:
        """Find the master, on a copy of the list of sentinels.

        redis-py swaps two entries of the shared list, and two threads that do so at once lose a sentinel for good.
        """
        asked: Any = copy(self)
        asked.sentinels = [*self.sentinels]
        discovering: Any = super(Sentinels, asked)  # redis-py has no types here
        try:
            address: tuple[str, int] = discovering.discover_master(service_name)
        except MasterNotFoundError as error:  # its text is a page of redis-py's own state
            raise MasterNotFoundError(f"no sentinel names a master {service_name!r} that answers") from error
        self.sentinels: list[Any] = asked.sentinels
        return address


class MasterPool(SentinelConnectionPool):
    """A pool of connections to the master. It closes the connections to the sentinels with its own."""

    sentinel_manager: Sentinels

    def disconnect(self, inuse_connections: bool = True) -> None:
        """Disconnect, and close the connections to the sentinels if those in use are closed too."""
        super().disconnect(inuse_connections=inuse_connections)
        if inuse_connections:
            for sentinel in self.sentinel_manager.sentinels:
                sentinel.close()


class MasterConnection(Refusable, SentinelManagedConnection):
    """A connection to the master. `role` is the server's own statement."""

    role: bytes
    host: str
    port: int

    def connect_to(self, address: tuple[str, int]) -> None:
        """Connect to an address that a sentinel named. Does not try again."""
        self.host, self.port = address
        SentinelManagedConnection.connect_check_health(self, check_health=False, retry_socket_connect=False)

    def connect_check_health(self, check_health: bool = True, retry_socket_connect: bool = True) -> None:
        """Connect once, to the address that the sentinels name: the sender tries again by itself."""
        del check_health, retry_socket_connect
        if not self.is_connected:
            self.connect_to(self.connection_pool.get_master_address())

    def read_server(self) -> None:
        """Read the server, and leave it if it is not a master."""
        connection: Any = super()
        connection.read_server()
        if self.role != b"master":
            connection.disconnect()
            raise RedisConnectionError(f"{self.host}:{self.port} is no master any more")

    def read_response(self, *args: Any, **options: Any) -> Any:
        """Read a reply. The connection is closed when an error interrupts it, unless the caller says otherwise."""
        connection: Any = super()
        options.setdefault("disconnect_on_error", True)  # as without sentinels: no reply may come too late
        return connection.read_response(*args, **options)


def sentinels(address: SentinelAddress) -> Sentinels:
    """Return clients of the sentinels, each asked once and with bounded waits."""
    create: Any = Sentinels
    once = Retry(NoBackoff(), 0)
    waits = {"socket_timeout": PATIENCE, "socket_connect_timeout": PATIENCE, "retry": once}
    sentinels: Sentinels = create(address.sentinels, sentinel_kwargs={**waits, **address.sentinel_options})
    return sentinels


def master_pool(address: SentinelAddress, kind: type[MasterConnection], options: dict[str, Any]) -> MasterPool:
    """Return a pool; nothing connects yet. `options` are redis-py's; those of the address take precedence."""
    create: Any = MasterPool
    settings = {**options, **address.options}
    pool: MasterPool = create(address.master, sentinels(address), connection_class=kind, **settings)
    return pool
