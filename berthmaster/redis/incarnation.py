"""Connections that know which Redis process they talk to, and put its incarnation into the commands that need it.

State in Redis is trusted only under the incarnation under which it was verified. That is the process (run_id), its
replication history (master_replid; after a failover and back the run_id alone would be the old one again) and the
version of the state (STATE_VERSION: state of another version of Berthmaster is not used). A client may have read the
incarnation of an earlier process than the one that receives the command. So `INCARNATION` is replaced where the command
is written to the socket, by the incarnation of that connection's server, whatever connection a pool or a retry picks.

A running server also changes its history without closing connections: its last replica is gone for `repl-backlog-ttl`,
or it was a replica for a while. So a connection trusts what it has read for LASTS only, and reads it again before the
next command that names it. The connections of one client share the latest reading, so that INFO is sent once and not
once a connection.

A connection also reads which fleet the server belongs to (see berthmaster.redis.identity), and refuses a server of
another fleet. It refuses a server in cluster mode, and one that does not say which process it is.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final, TypeAlias

from redis import Redis
from redis.connection import Connection, ConnectionPool, SSLConnection, UnixDomainSocketConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoPermissionError, ResponseError
from redis.sentinel import SentinelManagedConnection, SentinelManagedSSLConnection

from berthmaster.redis.address import SentinelAddress, by_sentinel, checked
from berthmaster.redis.identity import FIELDS, KEY, AnotherFleet, Identity
from berthmaster.redis.refusals import Refusable
from berthmaster.redis.sentinels import MasterConnection, master_pool
from berthmaster.redis.unusable import ClusterMode, NoIncarnation, UnusableRedis

Argument: TypeAlias = str | bytes | int | float


class Placeholder(bytes):
    """A placeholder, compared by identity. Any other connection sends its text, which equals no stamp."""


INCARNATION: Final = Placeholder(b"<incarnation of the connection>")
"""An argument of a command: `<run_id>:<master_replid>:<STATE_VERSION>` of the server that receives the command."""
STATE_VERSION: Final = "v3"
"""Raise it in the release that changes the form of a key of the workqueue, a ledger or the claim index: its type, its
fields, or the text of a value. A fleet that meets state of another version discards it and rebuilds its own, as after a
loss of Redis. Runners that were built with another version are refused until their image is built anew.
Keys without a hash tag (`berthmaster:*`) outlive a change of the version: rename such a key when its form changes.
"""


LASTS: Final = 4.0
"""Seconds for which a reading of the server is trusted. It is below the 5 s that a full synchronisation waits by
Redis's default (`repl-diskless-sync-delay`). So data that a master got as a replica never meets an older reading.
"""
PAUSE: Final = 0.2
"""Seconds between two readings because of refusals: while the publisher is away each command is refused."""


class ServerKnowledge:
    """What the connections of one client know of their server. `fleet`: the one it must belong to, None for any."""

    def __init__(self, fleet: Identity | None = None) -> None:
        self.fleet = fleet
        self.incarnation, self._asked = b"", 0.0

    def learn(self, incarnation: bytes, asked: float) -> None:
        """Record a reading. `asked`: the monotonic time before the question was sent."""
        self.incarnation, self._asked = incarnation, asked

    def holds(self, incarnation: bytes) -> bool:
        """Tell whether this is the incarnation read last, and was read within LASTS."""
        return incarnation == self.incarnation and time.monotonic() - self._asked < LASTS

    def doubt(self, pause: float = 0.0) -> bool:
        """Make the next command read the server again. False: it was read less than `pause` seconds ago."""
        if time.monotonic() - self._asked < pause:
            return False
        self._asked = -LASTS
        return True


class IncarnationAware(Refusable):
    """Mixed into a connection class of redis-py: reads the server after each handshake, and again every LASTS."""

    incarnation: bytes = b""
    role: bytes = b""

    def __init__(self, *args: Any, knowledge: ServerKnowledge | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.knowledge = knowledge or ServerKnowledge()

    def on_connect_check_health(self, check_health: bool = True) -> None:
        """Shake hands, then read the server. An error of the server becomes a lost connection."""
        connection: Any = super()
        try:
            connection.on_connect_check_health(check_health=check_health)
        except ResponseError as error:
            with suppress(ResponseError):  # a server in cluster mode has database 0 only
                self._read_info()
            raise refused(error) from error
        self.read_server()

    def read_server(self) -> None:
        """Read incarnation, role and fleet of the server in one round trip. A refused connection is closed."""
        connection: Any = self
        asked, fleet = time.monotonic(), self.knowledge.fleet
        questions = [INFO, *([("HMGET", KEY, *FIELDS)] if fleet else [])]
        connection.send_packed_command([packed(question) for question in questions], check_health=False)
        try:
            facts = usable(read_facts(connection.read_response(disable_decoding=True)))
            if fleet:
                self._compare(fleet)
        except ResponseError as error:  # there is no such database, or the user may not do that
            connection.disconnect()
            raise refused(error) from error
        except UnusableRedis:
            connection.disconnect()
            raise
        self.incarnation = b":".join((facts[b"run_id"], facts[b"master_replid"], STATE_VERSION.encode()))
        self.role = facts[b"role"]
        if self.role == b"master":
            self.knowledge.learn(self.incarnation, asked)
        else:  # what it has may be another's data the next moment
            self.knowledge.doubt()

    def _read_info(self) -> dict[bytes, bytes]:
        """Read INFO of a server that another command has refused. Raises UnusableRedis and ResponseError."""
        connection: Any = self
        connection.send_packed_command([packed(INFO)], check_health=False)
        return usable(read_facts(connection.read_response(disable_decoding=True)))

    def _compare(self, fleet: Identity) -> None:
        connection: Any = self
        try:
            owner = Identity.stored(connection.read_response(disable_decoding=True))
        except NoPermissionError:  # the user of a runner of an earlier version
            return
        if owner and not owner.matches(fleet):
            raise AnotherFleet(owner, fleet)

    def send_command(self, *args: Any, **options: Any) -> None:
        """Send a command, with the server's incarnation in place of `INCARNATION`."""
        connection: Any = super()
        connection.send_command(*self._named(args), **options)

    def pack_command(self, *args: Any) -> Any:
        """Pack a command, with the server's incarnation in place of `INCARNATION`."""
        connection: Any = super()
        return connection.pack_command(*self._named(args))

    def pack_commands(self, commands: Iterable[tuple[Any, ...]]) -> Any:
        """Pack commands, with the server's incarnation in place of `INCARNATION`."""
        connection: Any = super()
        return connection.pack_commands([self._named(args) for args in commands])

    def exchange(self, command: tuple[Argument, ...]) -> Any:
        """Send a command and return its plain reply."""
        connection: Any = self
        connection.send_packed_command([packed(self._named(command))])
        return connection.read_response()

    def _named(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if INCARNATION not in args:  # which also finds an equal text: this is only a quick way out
            return args
        connection: Any = self
        if not connection.is_connected:  # redis-py packs first and connects when it sends
            connection.connect_check_health(check_health=False)
        elif not self.knowledge.holds(self.incarnation):
            self.read_server()
        return tuple([self.incarnation if arg is INCARNATION else arg for arg in args])


class IncarnationAwareConnection(IncarnationAware, Connection):
    """A TCP connection that knows its server's incarnation."""


class IncarnationAwareSSLConnection(IncarnationAware, SSLConnection):
    """A TLS connection that knows its server's incarnation."""


class IncarnationAwareUnixConnection(IncarnationAware, UnixDomainSocketConnection):
    """A connection through a Unix socket that knows its server's incarnation."""


class IncarnationAwareMaster(MasterConnection, IncarnationAware, SentinelManagedConnection):
    """A connection to the sentinels' master. Base-class order matters: read INFO first, then check the role."""


class IncarnationAwareSSLMaster(MasterConnection, IncarnationAware, SentinelManagedSSLConnection):
    """A TLS connection to the master that the sentinels name, which knows its server's incarnation."""


INFO: Final = ("INFO", "server", "replication")
NEEDED: Final = (b"run_id", b"master_replid", b"role")
CLASSES: Final = {
    Connection: IncarnationAwareConnection,
    SSLConnection: IncarnationAwareSSLConnection,
    UnixDomainSocketConnection: IncarnationAwareUnixConnection,
}


def packed(command: Iterable[Argument]) -> bytes:
    """Return the command in Redis's protocol, in a third of the time of redis-py's more general packer."""
    texts = [part if isinstance(part, bytes) else str(part).encode() for part in command]
    return b"*%d\r\n%b" % (len(texts), b"".join([b"$%d\r\n%b\r\n" % (len(text), text) for text in texts]))


def ask(client: Redis, *command: Argument) -> Any:
    """Return the plain reply, with the client's retries but without its layers for callbacks, caches and telemetry.

    Those layers took a third of the time of a short script. A client that `connect` did not create is asked as usual.
    """
    pool: Any = client.connection_pool
    if not issubclass(pool.connection_class, IncarnationAware):
        return client.execute_command(*command)  # type: ignore[no-untyped-call] # redis-py has no types there
    connection = pool.get_connection()
    try:
        return connection.retry.call_with_retry(
            lambda: connection.exchange(command), lambda _error: connection.disconnect()
        )
    finally:
        pool.release(connection)


def refused(error: ResponseError) -> RedisConnectionError:
    """Return the error of a refused handshake as a lost connection."""
    return RedisConnectionError(f"the server does not let us begin: {error}")


def read_facts(info: bytes) -> dict[bytes, bytes]:
    """Parse the reply of INFO."""
    return dict(line.split(b":", 1) for line in info.splitlines() if b":" in line)


def usable(facts: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the facts of a server that may be used. Raises UnusableRedis. A Valkey may call its mode otherwise."""
    if b"cluster" in (facts.get(b"redis_mode"), facts.get(b"server_mode")):
        raise ClusterMode
    if missing := [name.decode() for name in NEEDED if not facts.get(name)]:
        raise NoIncarnation(" and ".join(missing))
    return facts


def connect(url: str, fleet: Identity | None = None, **options: Any) -> Redis:
    """Return a client for an address (see berthmaster.redis.address); it connects on first use. Raises ValueError.

    Replies are bytes. `fleet`: the fleet that the server must belong to, if to any.
    """
    options = {**options, "decode_responses": False, "knowledge": ServerKnowledge(fleet)}
    if by_sentinel(url):
        address = SentinelAddress.parse(url)
        return Redis.from_pool(
            master_pool(address, IncarnationAwareSSLMaster if address.tls else IncarnationAwareMaster, options)
        )
    pool = ConnectionPool.from_url(checked(url), **options)
    pool.connection_class = CLASSES[pool.connection_class]
    return Redis.from_pool(pool)


def incarnation(client: Redis) -> str:
    """Return the incarnation of the server that answers now. The client must come from `connect`."""
    answer: Any = client.echo(INCARNATION)
    return str(answer.decode())


def doubt(client: Redis, pause: float = 0.0) -> bool:
    """Make the next command that names the incarnation read it again. False: it was read less than `pause` ago."""
    knowledge = _knowledge(client)
    return bool(knowledge and knowledge.doubt(pause))


def doubt_at_times(client: Redis) -> bool:
    """Call `doubt` after a refusal, but not each time: while the publisher is away each command is refused."""
    return doubt(client, PAUSE)


def refused_by_another(client: Redis) -> bool:
    """Tell, after a reply that the server is not ready, whether the server changed, so that another try helps."""
    knowledge = _knowledge(client)
    before = knowledge.incarnation if knowledge else b""
    return doubt_at_times(client) and incarnation(client).encode() != before


def _knowledge(client: Redis) -> ServerKnowledge | None:
    """Return the client's knowledge, None for a client that `connect` did not create."""
    return client.connection_pool.connection_kwargs.get("knowledge")
