"""Addresses of Redis: what a URL says, and why a URL is of no use.

redis-py reads `redis://`, `rediss://` and `unix://`. There is no common form of URL for Sentinel. Ours puts everything
into one text, because settings, clients and runner pods carry one text:

    redis+sentinel://USER:PASSWORD@one:26379,two:26379,three:26379/MASTER/0?sentinel_password=...

User, password and options are those of the master. Options that begin with `sentinel_` are those of the sentinels.
`rediss+sentinel://` means TLS for both, unless `sentinel_ssl=false`.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, Self
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from redis.connection import SSLConnection, parse_url
from redis.exceptions import RedisError

PLAIN: Final = ("redis", "rediss", "unix")
BY_SENTINEL: Final = ("redis+sentinel", "rediss+sentinel")
SHAPE: Final = "redis+sentinel://HOST:26379,HOST:26379/MASTER/0"
FORMS: Final = f"must be redis://, rediss://, unix:// or {SHAPE}"
PORT: Final = 26379
LONG: Final = 10
"""More digits than the number of any database has."""
OF_SENTINELS: Final = "sentinel_"
TLS: Final = ("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs", "ssl_check_hostname")
OF_SENTINELS_KNOWN: Final = frozenset({"username", "password", "ssl", *TLS})
OPTIONS: Final = frozenset(
    {
        *("db", "username", "password", "protocol", "legacy_responses", "max_connections", "health_check_interval"),
        *("socket_timeout", "socket_connect_timeout", "socket_read_size", "retry_on_timeout"),
        *("client_name", "lib_name", "lib_version", "encoding", "encoding_errors"),
    }
)
"""What connections of redis-py take and an address can say; without `decode_responses`, as replies stay bytes."""
BY_TCP: Final = frozenset({"socket_keepalive"})
BY_TLS: Final = frozenset(
    {
        *TLS,
        *("ssl_ca_data", "ssl_password", "ssl_ciphers", "ssl_min_version", "ssl_include_verify_flags"),
        *("ssl_exclude_verify_flags", "ssl_validate_ocsp", "ssl_validate_ocsp_stapled", "ssl_ocsp_expected_cert"),
    }
)
ON_ONLY: Final = frozenset({"ssl_validate_ocsp", "ssl_validate_ocsp_stapled"})
"""redis-py reads any text as true, also `false`: to switch such an option off, leave it out."""
SWITCHES: Final = frozenset(
    {"legacy_responses", "retry_on_timeout", "socket_keepalive", "ssl_check_hostname", *ON_ONLY}
)
SAID: Final = {**dict.fromkeys(("true", "yes", "1"), True), **dict.fromkeys(("false", "no", "0"), False)}
ESCAPE: Final = "write each sign of user and password that is no letter or digit as %XX"
AMQP: Final = ("amqp", "amqps", "pyamqp")
"""RabbitMQ: a broker only. Several addresses with a semicolon between them are the nodes of one cluster."""
BROKERS: Final = ("redis", "rediss", *AMQP)
"""Addresses of these schemes have nothing after the host but a port."""


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
        """Parse our form. Raises ValueError, whose text never contains the address: a password may be in it."""
        parts = _split(url)
        tls = parts.scheme == "rediss+sentinel"
        master, _, db = parts.path.strip("/").partition("/")
        if not master:
            raise ValueError(f"names no master, as in {SHAPE}")
        if not _is_number(db or "0"):
            raise ValueError(f"after the master comes the number of a database, as in {SHAPE}")
        query = parse_qsl(parts.query, keep_blank_values=True)
        own = [(name, value) for name, value in query if not name.startswith(OF_SENTINELS)]
        theirs = {name.removeprefix(OF_SENTINELS): value for name, value in query if name.startswith(OF_SENTINELS)}
        user, _, hosts = parts.netloc.rpartition("@")
        options = {"db": int(db or 0), **_options(own, _options_of(parts.scheme)), **_user(user)}
        return cls(_hosts(hosts), unquote(master), options, _sentinels(theirs, options if tls else {}, tls), tls)


def by_sentinel(url: str) -> bool:
    """Tell whether the URL's scheme is one of ours for Sentinel."""
    return url.partition("://")[0] in BY_SENTINEL


def without(url: str, options: Iterable[str]) -> str:
    """Return a valid address without its user and these options."""
    parts, unwanted = urlsplit(url), frozenset(options)
    query = urlencode(
        [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in unwanted]
    )
    place = urlunsplit(parts._replace(scheme="", netloc=parts.netloc.rpartition("@")[2], query=query))
    return f"{parts.scheme}://{place.removeprefix('//')}"


def checked(url: str) -> str:
    """Return the address if it can be one of a Redis. Raises ValueError."""
    scheme, separator, rest = url.partition("://")
    if scheme == "sentinel":
        raise ValueError(f"sentinel:// names no master: write {SHAPE}")
    if scheme not in (*PLAIN, *BY_SENTINEL) or not separator or not rest:
        raise ValueError(FORMS)
    if by_sentinel(url):
        SentinelAddress.parse(url)
    else:
        _check_plain(_split(url))
    return url


def checked_if_named(url: str) -> str:
    """Return the address, which may be ''. Raises ValueError."""
    return url and checked(url)


def checked_broker(url: str) -> str:
    """Return the address if Celery may get it. Raises ValueError."""
    scheme = url.partition("://")[0]
    if scheme not in BROKERS:
        return checked_or(url, "amqp:// or amqps:// (RabbitMQ)")
    for address in url.split(";"):
        _check_port(_split(address))
    return url


def checked_or(url: str, others: str) -> str:
    """Return the address if it can be one of a Redis. Raises ValueError, which names the `others` that are taken."""
    try:
        return checked(url)
    except ValueError as error:
        raise ValueError(f"{error}, {others}" if str(error) == FORMS else str(error)) from None


def _hosts(text: str) -> tuple[tuple[str, int], ...]:
    try:
        addresses = [urlsplit(f"//{address}") for address in text.split(",")]
        hosts = tuple((address.hostname or "", address.port or PORT) for address in addresses)
    except ValueError:  # its text would say the address
        raise ValueError(f"has a sentinel whose port is no number, as in {SHAPE}") from None
    if not all(host for host, _ in hosts):
        raise ValueError(f"has a sentinel without a name, as in {SHAPE}")
    return hosts


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
    except ValueError:  # its text would say the password
        raise ValueError(f"cannot be read: {ESCAPE}") from None
    if parts.fragment or ("@" in parts.path and parts.scheme != "unix"):  # the rest of a password
        raise ValueError(f"cannot be read: {ESCAPE}")
    return parts


def _check_port(parts: SplitResult) -> None:
    try:
        _ = parts.port
    except ValueError:
        raise ValueError(f"has a port that is no number, or a password that looks like one: {ESCAPE}") from None


def _check_plain(parts: SplitResult) -> None:
    """Check the database: redis-py uses database 0 where it cannot read the number."""
    query = parse_qsl(parts.query, keep_blank_values=True)
    _options(query, _options_of(parts.scheme))
    if parts.scheme == "unix":
        return
    _check_port(parts)
    db = unquote(parts.path).replace("/", "")
    if db and not _is_number(db):
        raise ValueError("after the host comes the number of a database, as in redis://HOST:6379/0")


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) < LONG


def _user(text: str) -> dict[str, str]:
    name, _, password = text.partition(":")
    return {key: unquote(text_part) for key, text_part in (("username", name), ("password", password)) if text_part}


def _options_of(scheme: str) -> frozenset[str]:
    if scheme == "unix":
        return OPTIONS
    return OPTIONS | BY_TCP | (BY_TLS if scheme.startswith("rediss") else frozenset())


def _options(query: list[tuple[str, str]], allowed: frozenset[str], of: str = "") -> dict[str, Any]:
    """Return the options as redis-py reads them from an address. `of`: the prefix of their names.

    The name of an unknown option is not shown: it may be the rest of a password.
    """
    if not allowed.issuperset(name for name, _ in query):
        names = ", ".join(f"{of}{name}" for name in sorted(allowed))
        raise ValueError(f"has an option that is not one of {names}, or a password with a sign like &: {ESCAPE}")
    read: Any = parse_url  # redis-py has no types there
    options: dict[str, Any] = {}
    for name, value in reversed(query):  # of two the first holds
        try:
            option = read(f"redis://?{urlencode({name: value})}")
        except ValueError:
            option = None
        if option is None or not _sensible(name, value, option):
            raise ValueError(f"has an option with a value that makes no sense: {of}{name}")
        options |= option
    return options


def _sensible(name: str, value: str, read: dict[str, Any]) -> bool:
    """Tell whether the value makes sense: redis-py accepts some values that it misreads, or fails on later."""
    if name in SWITCHES:
        said = SAID.get(value.lower())
        return not value or said is True or (said is False and name not in ON_ONLY)
    try:
        if name in ("protocol", "ssl_cert_reqs"):
            SSLConnection(**read)
        elif name == "encoding":
            codecs.lookup(value)
    except (LookupError, RedisError):
        return False
    number = read.get(name)
    return not isinstance(number, float | int) or (isfinite(number) and number >= (name == "max_connections"))


def _sentinels(said: dict[str, str], masters: dict[str, Any], tls: bool) -> dict[str, Any]:
    """Return the options for the sentinels. `masters`: the master's, whose TLS options are the default here."""
    own = _options(list(said.items()), OF_SENTINELS_KNOWN, OF_SENTINELS)
    tls_of_sentinels = SAID.get(str(own.pop("ssl", tls)).lower())
    if tls_of_sentinels is None:
        raise ValueError(f"{OF_SENTINELS}ssl is true or false")
    same = {name: masters[name] for name in TLS if name in masters}
    return {**({"ssl": True, **same} if tls_of_sentinels else {}), **own}
