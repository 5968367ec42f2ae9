"""The address of the Celery broker, Redis or RabbitMQ, as kombu writes it, and whether a broker answers.

Kombu's own form for Sentinel is an address for each sentinel; the rest are options of the transport.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from kombu import Connection
from kombu.exceptions import ChannelError

from berthmaster.redis.address import AMQP, BY_SENTINEL, PLAIN, TLS, SentinelAddress, by_sentinel
from berthmaster.redis.client import connect_briefly, unusable
from berthmaster.redis.sentinels import PATIENCE as PATIENCE_WITH_SENTINELS
from berthmaster.redis.sentinels import Hidden
from berthmaster.redis.settings import LOOK_LASTS, RedisSettings
from berthmaster.redis.unusable import ClusterMode

PATIENCE = 3  # seconds
TIMEOUTS: Final[dict[str, Any]] = {
    "socket_timeout": 5,  # the default waits for ever; the main loop also waits that long on a dead connection
    "socket_connect_timeout": 5,  # an address that swallows packets does not hold a thread for minutes
    "socket_keepalive": True,  # the kernel notices a peer that is gone
    "unacked_mutex_expire": LOOK_LASTS.total_seconds(),  # the default keeps the others from looking for 300 s
}
"""Seconds for consumers: one that reads from a silent broker without a time-out does not even end on request."""


OF_RABBITMQ: Final[dict[str, Any]] = {
    "confirm_publish": True,  # else a message that the broker never got counts as sent
    **dict.fromkeys(("connect_timeout", "read_timeout", "write_timeout"), 5),  # no call waits for ever, as above
}
"""py-amqp's options, for who sends and who consumes. A connection without a word ends by TCP_USER_TIMEOUT (1 s)."""


class Broker(NamedTuple):
    """The broker as kombu names it. `options` are the transport options that belong to the address."""

    url: str
    options: dict[str, Any] = {}


def broker_of(url: str) -> Broker:
    """Return the broker of an address. Only our form for Sentinel needs a translation."""
    if is_amqp(url):
        return Broker(url, OF_RABBITMQ)
    if not by_sentinel(url):
        return Broker(url)
    address = SentinelAddress.parse(url)
    who = [quote(address.options.get(name) or "", safe="") for name in ("username", "password")]
    user = f"{':'.join(who)}@" if any(who) else ""
    tls = {"ssl_cert_reqs": "required", **{n: v for n, v in address.options.items() if n in TLS}} if address.tls else {}
    rest = f"/{address.options['db']}" + (f"?{urlencode(tls)}" if tls else "")
    hosts = [f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in address.sentinels]
    options = {"master_name": address.master, "sentinel_kwargs": _sentinel_options(address.sentinel_options)}
    return Broker(";".join(f"sentinel://{user}{host}{rest}" for host in hosts), options)


def connection(url: str, options: Mapping[str, Any]) -> Connection:
    """Return a kombu connection to an address of ours. It connects on first use. `options` are those of Redis."""
    broker = broker_of(url)
    return Connection(broker.url, transport_options=broker.options if is_amqp(url) else {**options, **broker.options})


def is_amqp(url: str) -> bool:
    """Tell whether an address is one of RabbitMQ."""
    return url.partition("://")[0] in AMQP


def is_redis(url: str) -> bool:
    """Tell whether an address is one of a Redis in a form of ours."""
    return url.partition("://")[0] in (*PLAIN, *BY_SENTINEL)


def broker_refusal(url: str) -> ClusterMode | None:
    """Return why a broker must not be used, None if it may, is away, or is no Redis."""
    if not is_redis(url):
        return None
    with closing(connect_briefly(RedisSettings(url=url))) as client:
        refusal = unusable(client)
    return refusal if isinstance(refusal, ClusterMode) else None


def broker_problem(url: str) -> str | None:
    """Return None if the broker answers, else why not."""
    options = {"socket_connect_timeout": PATIENCE, "socket_timeout": PATIENCE}
    try:
        with connection(url, options) as asked:
            asked.ensure_connection(max_retries=1, interval_start=0, timeout=PATIENCE)
    except Exception as error:  # noqa: BLE001 - each transport has exceptions of its own
        return in_brief(error) or type(error).__name__
    return None


def messages_in(url: str, queue: str) -> int:
    """Return how many messages a queue of the broker has, 0 if there is none. Raises what its transport raises."""
    with connection(url, {"socket_connect_timeout": PATIENCE, "socket_timeout": PATIENCE}) as asked:
        channel: Any = asked.default_channel
        try:
            return int(channel.queue_declare(queue, passive=True).message_count)
        except ChannelError:
            return 0


def in_brief(error: Exception) -> str:
    """Return the error's text, without the page that redis-py adds when no sentinel names the master."""
    return str(error).partition(" : <redis.")[0]


def _sentinel_options(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options without a retry: there are other sentinels."""
    options = {name: value for name, value in given.items() if name not in ("username", "password")}
    waits = {"socket_timeout": PATIENCE_WITH_SENTINELS, "socket_connect_timeout": PATIENCE_WITH_SENTINELS}
    who = {"credential_provider": Hidden(given.get("username"), given.get("password"))} if "password" in given else {}
    return {**options, **waits, **who, "retry": None}
