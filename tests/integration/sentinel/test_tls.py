"""TLS with the master, with the sentinels, and with both: for the state and for the broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from berthmaster.broker.address import broker_of, broker_problem
from berthmaster.redis.client import connect_state
from berthmaster.redis.incarnation import INCARNATION, connect
from berthmaster.redis.outage import OUTAGE
from berthmaster.redis.settings import RedisSettings
from tests.support.faults.tcp_proxy import TcpProxy
from tests.support.faults.tls_proxy import Authority, TlsProxy
from tests.support.servers.sentinel_group import MASTER, SentinelGroup


class Renaming(TcpProxy):
    """A sentinel in whose answers the master has another port."""

    def __init__(self, sentinel: int, master: int, named: int, *more: Any) -> None:
        self.was, self.becomes = str(master).encode(), str(named).encode()
        assert len(self.was) == len(self.becomes)
        super().__init__(sentinel, *more)

    def passed(self, data: bytes) -> bytes:
        return super().passed(data).replace(self.was, self.becomes)


class RenamingTls(Renaming, TlsProxy):
    """Both."""


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "authority")


@pytest.fixture
def ports(shared: SentinelGroup, authority: Authority) -> Iterator[dict[str, int]]:
    """A TLS master's sentinel with and without TLS, and a plain master's with it."""
    plain, sentinel = shared.master().port, shared.voice.port
    over = TlsProxy(plain, authority)
    proxies = {
        "both": RenamingTls(sentinel, plain, over.port, authority),
        "master": Renaming(sentinel, plain, over.port),
        "sentinels": RenamingTls(sentinel, plain, plain, authority),
    }
    yield {name: proxy.port for name, proxy in proxies.items()}
    for proxy in (over, *proxies.values()):
        proxy.close()


def options(authority: Authority, prefix: str = "") -> dict[str, Any]:
    certificate, key = authority.issue("client")
    said = {"ssl_cert_reqs": "required", "ssl_ca_certs": authority.certificate}
    return {prefix + name: value for name, value in {**said, "ssl_certfile": certificate, "ssl_keyfile": key}.items()}


def address(scheme: str, port: int, **said: Any) -> str:
    return f"{scheme}+sentinel://127.0.0.1:{port}/{MASTER}/0?{urlencode(said)}"


@pytest.mark.row("EV-17")
@pytest.mark.parametrize("which", ["both", "master", "sentinels"])
def test_state_and_broker_reach_the_master_over_tls(
    shared: SentinelGroup, ports: dict[str, int], authority: Authority, which: str
) -> None:
    own, theirs = options(authority), options(authority, "sentinel_")
    url = {
        "both": address("rediss", ports["both"], **own),
        "master": address("rediss", ports["master"], **own, sentinel_ssl="false"),
        "sentinels": address("redis", ports["sentinels"], sentinel_ssl="true", **theirs),
    }[which]
    over, plain = connect_state(RedisSettings(url=url)), connect(shared.url)
    assert over.echo(INCARNATION) == plain.echo(INCARNATION)
    assert broker_problem(url) is None
    over.close()
    plain.close()


@pytest.mark.parametrize("which", ["both", "master"])
def test_an_authority_that_is_not_trusted_is_an_outage(
    ports: dict[str, int], authority: Authority, tmp_path: Path, which: str
) -> None:
    other = Authority(tmp_path, "other")
    said = {**options(authority), "ssl_ca_certs": other.certificate}
    url = address("rediss", ports[which], **said, **({"sentinel_ssl": "false"} if which == "master" else {}))
    with pytest.raises(OUTAGE):
        connect_state(RedisSettings(url=url)).ping()
    assert broker_problem(url)


@pytest.mark.row("EV-17")
def test_a_broker_over_tls_is_verified_unless_it_is_told_otherwise() -> None:
    """Kombu would not."""
    assert broker_of("rediss+sentinel://one,[::1]:7/berths/3").url == (
        "sentinel://one:26379/3?ssl_cert_reqs=required;sentinel://[::1]:7/3?ssl_cert_reqs=required"
    )
    assert broker_of("rediss+sentinel://one/berths?ssl_cert_reqs=none").url.endswith("/0?ssl_cert_reqs=none")
