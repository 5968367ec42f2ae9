"""The endpoint as managed offers have it: with TLS, a user and a password."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import pytest

from berthmaster.broker.address import broker_problem
from berthmaster.redis.client import connect_state
from berthmaster.redis.incarnation import doubt, incarnation
from berthmaster.redis.settings import RedisSettings
from tests.support.faults.tls_proxy import Authority, TlsProxy
from tests.support.servers.moving_endpoint import MovingEndpoint
from tests.support.waiting import eventually


@pytest.mark.row("ST-40")
def test_a_connection_that_lives_follows_the_endpoint_when_the_old_primary_becomes_a_replica(tmp_path: Path) -> None:
    """In a planned failover nothing dies: the old primary refuses the next write, and the connection leaves it."""
    authority = Authority(tmp_path, "authority")
    moving = MovingEndpoint(tmp_path / "pair", "p/@:", lambda port: TlsProxy(port, authority)).start()
    certificate, key = authority.issue("client")
    trust = {"ssl_ca_certs": certificate.parent / "authority.crt", "ssl_certfile": certificate, "ssl_keyfile": key}
    url = f"{moving.url.replace('redis://', 'rediss://')}?{urlencode({'ssl_cert_reqs': 'required', **trust})}"
    try:
        with connect_state(RedisSettings(url=url)) as client, connect_state(RedisSettings(url=url)) as other:
            before = incarnation(client)
            moving.promote()
            assert incarnation(other) != before  # a new connection
            assert incarnation(client) == before  # one of before, with a primary that lives
            old, new = moving.servers
            with connect_state(RedisSettings(url=old.url)) as admin:
                admin.replicaof("127.0.0.1", new.port)
            assert client.set("a", 1)
            doubt(other)  # its server has another history now that it has a replica
            eventually(lambda: incarnation(client) == incarnation(other) != before)
            assert other.get("a") == b"1"
        assert broker_problem(url) is None
    finally:
        moving.stop()
