"""Addresses of Redis: what a URL says, and what is wrong with one that says nothing of use.

redis-py reads `redis://`, `rediss://` and `unix://`. Sentinel has no form of URL that everybody knows; ours is one
text for all there is to say, because one text is what settings, clients and runner pods carry:

    redis+sentinel://USER:PASSWORD@one:26379,two:26379,three:26379/MASTER/0?sentinel_password=...

User, password and options are those of the master. Options that begin with `sentinel_` are those of the sentinels.
`rediss+sentinel://` means TLS for both, unless `sentinel_ssl=false`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from redis.connection import parse_url

PLAIN: Final = ("redis", "rediss", "unix")
BY_SENTINEL: Final = ("redis+sentinel", "rediss+sentinel")
SHAPE: Final = "redis+sentinel://HOST:26379,HOST:26379/MASTER/0"
PORT: Final = 26379
OF_SENTINELS: Final = "sentinel_"
TLS: Final = ("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs", "ssl_check_hostname")
KNOWN: Final = frozenset({"username", "password", "ssl", *TLS})
NO: Final = ("false", "no", "0")


@dataclass(frozen=True)
class SentinelAddress:
    """A master by its name. `options` and `sentinel_options` are arguments of redis-py's connections."""

    sentinels: tuple[tuple[str, int], ...]
    master: str
    options: dict[str, Any]
    sentinel_options: dict[str, Any]
    tls: bool

    @classmethod
    def parse(cls, url: str) -> Self:
        """Raises ValueError, which never says the address itself: a password may be in it."""
        parts = urlsplit(url)
        user, _, hosts = parts.netloc.rpartition("@")
        master, _, db = parts.path.strip("/").partition("/")
        if not master:
            raise ValueError(f"names no master, as in {SHAPE}")
        if not (db or "0").isdecimal():
            raise ValueError(f"after the master comes the number of a database, as in {SHAPE}")
        query = parse_qsl(parts.query)
        own = [(name, value) for name, value in query if not name.startswith(OF_SENTINELS)]
        theirs = {name.removeprefix(OF_SENTINELS): value for name, value in query if name.startswith(OF_SENTINELS)}
        tls = parts.scheme == "rediss+sentinel"
        options = {"db": int(db or 0), **_options(own, user)}
        return cls(_hosts(hosts), unquote(master), options, _sentinels(theirs, options if tls else {}, tls), tls)


def by_sentinel(url: str) -> bool:
    return url.partition("://")[0] in BY_SENTINEL


def checked(url: str) -> str:
    """The same, if it can be one of a Redis. Raises ValueError."""
    scheme, found, rest = url.partition("://")
    if scheme == "sentinel":
        raise ValueError(f"sentinel:// names no master: write {SHAPE}")
    if scheme not in (*PLAIN, *BY_SENTINEL) or not found or not rest:
        raise ValueError(f"must be redis://, rediss://, unix:// or {SHAPE}")
    if by_sentinel(url):
        SentinelAddress.parse(url)
    return url


def checked_if_named(url: str) -> str:
    """The same; '' is none. Raises ValueError."""
    return url and checked(url)


def checked_broker(url: str) -> str:
    """The same, if Celery may know it. Raises ValueError."""
    return checked(url) if url.startswith("sentinel://") or by_sentinel(url) else url


def _hosts(text: str) -> tuple[tuple[str, int], ...]:
    try:
        found = [urlsplit(f"//{each}") for each in text.split(",")]
        hosts = tuple((each.hostname or "", each.port or PORT) for each in found)
    except ValueError:  # its text would say the address
        raise ValueError(f"has a sentinel whose port is no number, as in {SHAPE}") from None
    if not all(host for host, _ in hosts):
        raise ValueError(f"has a sentinel without a name, as in {SHAPE}")
    return hosts


def _options(query: list[tuple[str, str]], user: str = "") -> dict[str, Any]:
    """As redis-py reads them from an address."""
    read: Any = parse_url  # redis-py has no types there
    return dict(read(f"redis://{user}@/?{urlencode(query)}"))


def _sentinels(said: dict[str, str], masters: dict[str, Any], tls: bool) -> dict[str, Any]:
    """`masters`: options of which those of TLS hold for the sentinels too, unless they have their own."""
    if unknown := sorted(set(said) - KNOWN):
        raise ValueError(f"has an option that sentinels do not know: {OF_SENTINELS}{unknown[0]}")
    told = said.pop("ssl", str(tls)).lower() not in NO
    same = {name: masters[name] for name in TLS if name in masters}
    return {**({"ssl": True, **same} if told else {}), **_options(list(said.items()))}
