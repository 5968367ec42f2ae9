"""The address of the Celery broker as kombu writes it, and whether a broker of any kind answers.

Kombu's own form for Sentinel is an address for each sentinel; the rest are options of the transport.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from kombu import Connection

from berthmaster.redis.address import TLS, SentinelAddress, by_sentinel
from berthmaster.redis.sentinels import PATIENCE as PATIENCE_WITH_SENTINELS
from berthmaster.redis.sentinels import Hidden

PATIENCE = 3  # seconds
TIMEOUTS: Final[dict[str, Any]] = {
    "socket_timeout": 5,  # the default waits for ever; the main loop also waits that long on a dead connection
    "socket_connect_timeout": 5,  # an address that swallows packets does not hold a thread for minutes
    "socket_keepalive": True,  # the kernel notices a peer that is gone
}
"""Seconds for consumers: one that reads from a silent broker without a time-out does not even end on request."""


class Broker(NamedTuple):
    """The broker as kombu names it. `options` are the transport options that belong to the address."""

    url: str
    options: dict[str, Any] = {}


def broker_of(url: str) -> Broker:
    """Return the broker of an address. Only our form for Sentinel needs a translation."""
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
    """Return a kombu connection to an address of ours. It connects on first use."""
    broker = broker_of(url)
    return Connection(broker.url, transport_options={**options, **broker.options})


def broker_problem(url: str) -> str | None:
    """Return None if the broker answers, else why not."""
    options = {"socket_connect_timeout": PATIENCE, "socket_timeout": PATIENCE}
    try:
        with connection(url, options) as asked:
            asked.ensure_connection(max_retries=1, interval_start=0, timeout=PATIENCE)
    except Exception as error:  # noqa: BLE001 - each transport has exceptions of its own
        return in_brief(error) or type(error).__name__
    return None


def in_brief(error: Exception) -> str:
    """Return the error's text, without the page that redis-py adds when no sentinel names the master."""
    return str(error).partition(" : <redis.")[0]


def _sentinel_options(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options without a retry: there are other sentinels."""
    options = {name: value for name, value in given.items() if name not in ("username", "password")}
    waits = {"socket_timeout": PATIENCE_WITH_SENTINELS, "socket_connect_timeout": PATIENCE_WITH_SENTINELS}
    who = {"credential_provider": Hidden(given.get("username"), given.get("password"))} if "password" in given else {}
    return {**options, **waits, **who, "retry": None}
