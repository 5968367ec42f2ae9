"""Connections that know which Redis process they talk to, and say so in the commands that ask for it.

State in Redis is trusted only under the process that it was checked under (its run_id) and the replication history
that it belongs to (its master_replid; after a failover and back the run_id alone would be the old one again). A
value remembered by the client may be of an earlier process than the one that receives the command, so the
replacement happens where the command is written to the socket: whatever connection a pool or a retry picks,
`INCARNATION` becomes the incarnation of its server.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from redis import Redis
from redis.connection import Connection, ConnectionPool, SSLConnection, UnixDomainSocketConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from redis.sentinel import SentinelManagedConnection, SentinelManagedSSLConnection

from events.redis_address import SentinelAddress, by_sentinel, checked
from events.refusals import Refusable
from events.sentinels import MasterConnection, master_pool

Argument: TypeAlias = str | bytes | int | float


class Placeholder(bytes):
    """Compared by identity. Over a connection of another kind its text is sent, which no stamp ever equals."""


INCARNATION: Final = Placeholder(b"<incarnation of the connection>")
"""An argument of a command: stands for `<run_id>:<master_replid>` of the server that receives the command."""


class Knowing(Refusable):
    """Mixed into a connection class of redis-py: asks the server who it is after each handshake."""

    incarnation: bytes = b""
    role: bytes = b""

    def on_connect_check_health(self, check_health: bool = True) -> None:
        connection: Any = super()
        try:
            connection.on_connect_check_health(check_health=check_health)
            connection.send_command("INFO", "server", "replication", check_health=False)
            facts = read_facts(connection.read_response(disable_decoding=True))
        except ResponseError as error:  # there is no such database, or the user may not do that
            raise RedisConnectionError(f"the server does not let us begin: {error}") from error
        self.incarnation, self.role = facts[b"run_id"] + b":" + facts[b"master_replid"], facts[b"role"]

    def send_command(self, *args: Any, **options: Any) -> None:
        connection: Any = super()
        connection.send_command(*self._named(args), **options)

    def pack_command(self, *args: Any) -> Any:
        connection: Any = super()
        return connection.pack_command(*self._named(args))

    def pack_commands(self, commands: Iterable[tuple[Any, ...]]) -> Any:
        connection: Any = super()
        return connection.pack_commands([self._named(args) for args in commands])

    def exchange(self, command: tuple[Argument, ...]) -> Any:
        """Sends a command and returns its plain reply."""
        connection: Any = self
        connection.send_packed_command([packed(self._named(command))])
        return connection.read_response()

    def _named(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if not any(arg is INCARNATION for arg in args):
            return args
        connection: Any = self
        if not connection.is_connected:  # redis-py packs first and connects when it sends
            connection.connect_check_health(check_health=False)
        return tuple(self.incarnation if arg is INCARNATION else arg for arg in args)


class KnowingConnection(Knowing, Connection):
    pass


class KnowingSSLConnection(Knowing, SSLConnection):
    pass


class KnowingUnixConnection(Knowing, UnixDomainSocketConnection):
    pass


class KnowingMaster(MasterConnection, Knowing, SentinelManagedConnection):
    """Its order matters: who is met is asked first, then judged."""


class KnowingSSLMaster(MasterConnection, Knowing, SentinelManagedSSLConnection):
    pass


CLASSES: Final = {
    Connection: KnowingConnection,
    SSLConnection: KnowingSSLConnection,
    UnixDomainSocketConnection: KnowingUnixConnection,
}


def packed(command: Iterable[Argument]) -> bytes:
    """In Redis's protocol; in a third of the time of redis-py's packer, which has to expect more."""
    texts = [part if isinstance(part, bytes) else str(part).encode() for part in command]
    return b"*%d\r\n%b" % (len(texts), b"".join([b"$%d\r\n%b\r\n" % (len(text), text) for text in texts]))


def ask(client: Redis, *command: Argument) -> Any:
    """The plain reply, with the client's retries but without its layers for callbacks, caches and telemetry, which took
    a third of the time of a short script. Only for clients of `connect`; any other is asked as usual.
    """
    pool: Any = client.connection_pool
    if not issubclass(pool.connection_class, Knowing):
        return client.execute_command(*command)  # type: ignore[no-untyped-call] # redis-py has no types there
    connection = pool.get_connection()
    try:
        return connection.retry.call_with_retry(
            lambda: connection.exchange(command), lambda _error: connection.disconnect()
        )
    finally:
        pool.release(connection)


def read_facts(info: bytes) -> dict[bytes, bytes]:
    """From the text that INFO answers."""
    return dict(line.split(b":", 1) for line in info.splitlines() if b":" in line)


def connect(url: str, **options: Any) -> Redis:
    """A client for an address (see redis_address), which is ValueError if it is none. Connects when it is first used.
    Replies are bytes.
    """
    options = {**options, "decode_responses": False}
    if by_sentinel(url):
        address = SentinelAddress.parse(url)
        return Redis.from_pool(master_pool(address, KnowingSSLMaster if address.tls else KnowingMaster, options))
    pool = ConnectionPool.from_url(checked(url), **options)
    pool.connection_class = CLASSES[pool.connection_class]
    return Redis.from_pool(pool)


def incarnation(client: Redis) -> str:
    """Of the server that answers now. The client must be one of `connect`'s."""
    answer: Any = client.echo(INCARNATION)
    return str(answer.decode())
