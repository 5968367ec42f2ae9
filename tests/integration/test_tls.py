"""Redis behind TLS, with an authority and a client certificate of one's own: the state, and the broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from berthmaster.broker.address import broker_problem, connection
from berthmaster.celery import transport_guard
from berthmaster.redis.client import connect_state
from berthmaster.redis.incarnation import INCARNATION, connect
from berthmaster.redis.outage import OUTAGE
from berthmaster.redis.refusals import RefusedError
from berthmaster.redis.settings import RedisSettings
from compose.sandbox.redis_server import RedisServer
from tests.support.faults.refusing import REAL
from tests.support.faults.tls_proxy import Authority, TlsProxy


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "authority")


@pytest.fixture
def port(redis_server: RedisServer, authority: Authority) -> Iterator[int]:
    proxy = TlsProxy(redis_server.port, authority)
    yield proxy.port
    proxy.close()


def address(port: int, trusted: Authority, certified: Authority | None) -> str:
    files = dict(zip(("ssl_certfile", "ssl_keyfile"), certified.issue("client"), strict=True)) if certified else {}
    query = {"ssl_cert_reqs": "required", "ssl_ca_certs": trusted.certificate, **files}
    return f"rediss://127.0.0.1:{port}/0?{urlencode(query)}"


def test_state_and_broker_take_a_client_certificate_and_an_authority_from_the_address(
    port: int, authority: Authority, redis_server: RedisServer
) -> None:
    url = address(port, authority, authority)
    over, plain = connect_state(RedisSettings(url=url)), connect(redis_server.url)
    assert over.echo(INCARNATION) == plain.echo(INCARNATION)
    assert broker_problem(url) is None


@pytest.mark.parametrize("missing", ["client certificate", "trust"])
def test_without_either_there_is_no_connection_and_an_error_that_workers_wait_out(
    port: int, authority: Authority, tmp_path: Path, missing: str
) -> None:
    other = Authority(tmp_path, "other")
    url = address(port, *((authority, None) if missing == "client certificate" else (other, authority)))
    with pytest.raises(OUTAGE):
        connect_state(RedisSettings(url=url)).ping()
    assert broker_problem(url)


@pytest.mark.row("RD-22")
def test_a_refusal_over_tls_is_an_outage_for_state_and_broker(
    port: int, authority: Authority, redis_server: RedisServer
) -> None:
    url = address(port, authority, authority)
    transport_guard.install()
    with (
        REAL["NOREPLICAS"](redis_server),
        connect_state(RedisSettings(url=url)) as state,
        connection(url, {}) as broker,
    ):
        with pytest.raises(RefusedError):
            state.set("a", 1)
        with pytest.raises(broker.connection_errors, match="NOREPLICAS"):
            broker.SimpleQueue("q").put("message")
