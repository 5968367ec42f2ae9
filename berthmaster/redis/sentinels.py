"""The master that sentinels name, and connections that leave a server as soon as it is that no more.

redis-py does most of it. What is added:

- Its connections ask the sentinels only when the pool hands them out: one that is lost in the middle of a command is
  opened again to the address that it had, which after a failover is the wrong one.
- A demoted master answers reads for ever, and one that was cut off from its replicas may believe that it is still the
  master. So a server that does not say that it is one is left, and so is one that refuses what it is asked
  (see refusals).
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
"""Seconds for a sentinel: there are others, and whoever asks may try several times."""


class Hidden(UsernamePasswordCredentialProvider):
    """User and password of the sentinels. Workers tell everybody who asks, and Flower, the options of their transport:
    in a text of any kind this is no secret.
    """

    def __repr__(self) -> str:
        return "hidden"

    def __json__(self) -> str:
        return repr(self)


class Sentinels(Sentinel):
    """Those of one address, safe to share by threads."""

    def discover_master(self, service_name: str) -> tuple[str, int]:
        """On a list of its own: redis-py swaps two entries of the shared one, and of two threads that do so at once
        one loses a sentinel for good.
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
    """Closes the connections to the sentinels with its own."""

    sentinel_manager: Sentinels

    def disconnect(self, inuse_connections: bool = True) -> None:
        """Disconnect, and close the connections to the sentinels if those in use are closed too."""
        super().disconnect(inuse_connections=inuse_connections)
        if inuse_connections:
            for sentinel in self.sentinel_manager.sentinels:
                sentinel.close()


class MasterConnection(Refusable, SentinelManagedConnection):
    """`role` is what the server said that it is."""

    role: bytes
    host: str
    port: int

    def connect_to(self, address: tuple[str, int]) -> None:
        """Connect to an address that a sentinel named. Does not try again."""
        self.host, self.port = address
        SentinelManagedConnection.connect_check_health(self, check_health=False, retry_socket_connect=False)

    def connect_check_health(self, check_health: bool = True, retry_socket_connect: bool = True) -> None:
        """Once: who sends tries again by itself."""
        del check_health, retry_socket_connect
        if not self.is_connected:
            self.connect_to(self.connection_pool.get_master_address())

    def read_server(self) -> None:
        """Judged each time that it says who it is."""
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
    """Nothing connects here. `options` are redis-py's; those of the address go first."""
    create: Any = MasterPool
    settings = {**options, **address.options}
    pool: MasterPool = create(address.master, sentinels(address), connection_class=kind, **settings)
    return pool
