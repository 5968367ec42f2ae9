"""Channels of kombu's Redis transport that keep their client.

kombu 5.7 makes a `redis.Redis` for each command that it sends outside of its event loop: one for each message that it
records as unacknowledged, one for each acknowledgement, one for each message that it sends. Each object builds its
table of response callbacks anew, which was a tenth of a worker's processor time. A client of a connection pool has no
state of its own, so that threads may share it.
"""

from __future__ import annotations

from typing import Any, Final

from kombu import transport
from kombu.transport import redis


class KeptClient:
    """Mixed into a channel: keeps the client of the channel's connection pool.

    A channel gets another pool after a fork and after it was disconnected, and then another client. Threads that race
    may make one twice, harmlessly. The event loop's own clients hold a connection each, so kombu keeps those itself.
    """

    _kept: Any = None
    pool: Any

    def _create_client(self, asynchronous: bool = False) -> Any:
        channel: Any = super()
        if asynchronous:
            return channel._create_client(asynchronous=True)
        client = self._kept
        if client is None or client.connection_pool is not self.pool:
            client = self._kept = channel._create_client()
        return client

    def _disconnect_pools(self) -> None:
        channel: Any = super()
        self._kept = None
        channel._disconnect_pools()


class Channel(KeptClient, redis.Channel):
    """A channel to one Redis."""


class SentinelChannel(KeptClient, redis.SentinelChannel):
    """A channel to the master that sentinels name."""


class Transport(redis.Transport):
    """The transport of `redis://` and `rediss://`."""

    Channel = Channel


class SentinelTransport(redis.SentinelTransport):
    """The transport of `sentinel://`."""

    Channel = SentinelChannel


TRANSPORTS: Final = {
    "redis": f"{__name__}:Transport",
    "rediss": f"{__name__}:Transport",
    "sentinel": f"{__name__}:SentinelTransport",
}
"""What kombu takes for a scheme of an address."""


def install() -> None:
    """Make kombu use these transports for every connection that is opened from now on. Safe to call again."""
    transport.TRANSPORT_ALIASES.update(TRANSPORTS)
    cache: Any = transport
    for scheme in TRANSPORTS:
        cache._transport_cache.pop(scheme, None)
