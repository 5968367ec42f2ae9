"""Commands say under which Redis process they run, whatever connection carries them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.connection import SSLConnection, UnixDomainSocketConnection

from berthmaster.redis.incarnation import (
    INCARNATION,
    STATE_VERSION,
    IncarnationAware,
    connect,
    doubt,
    incarnation,
)
from berthmaster.redis.promotion import may_be_promoted
from compose.sandbox.redis_server import RedisServer
from tests.support.faults.living_redis import change_history, replica_of
from tests.support.faults.redis_restart import restart
from tests.support.waiting import eventually


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path).start()
    yield server
    server.kill()


@pytest.fixture
def client(server: RedisServer) -> Iterator[Redis]:
    client = connect(server.url)
    yield client
    client.close()


def expected(redis: Redis) -> str:
    server: Any = redis.info("server")
    replication: Any = redis.info("replication")
    return f"{server['run_id']}:{replication['master_replid']}:{STATE_VERSION}"


@contextmanager
def promoted_beside_its_master(client: Redis, folder: Path) -> Iterator[None]:
    """The server was a replica, and is promoted while its master still runs."""
    other = RedisServer(folder / "other").start()
    try:
        with connect(other.url) as master:
            master.config_set("repl-diskless-sync-delay", 0)
        client.replicaof("127.0.0.1", other.port)
        wait_for_replication(client)
        client.replicaof("NO", "ONE")
        yield
    finally:
        other.kill()


def test_the_placeholder_is_replaced_in_single_commands_pipelines_and_transactions(redis: Redis) -> None:
    name = expected(redis).encode()
    assert redis.echo(INCARNATION) == name
    for transaction in (False, True):
        pipeline = redis.pipeline(transaction=transaction)
        pipeline.set("a", INCARNATION)
        pipeline.get("a")
        assert pipeline.execute() == [True, name]
    assert redis.eval("return ARGV[1]", 0, INCARNATION) == name


def test_a_text_that_reads_like_the_placeholder_stays_what_it_is(redis: Redis) -> None:
    text = bytes(bytearray(INCARNATION))
    assert redis.echo(text) == text


def test_a_client_of_another_kind_sends_what_no_stamp_equals(redis_url: str) -> None:
    with Redis.from_url(redis_url) as plain:
        assert plain.echo(INCARNATION) == bytes(bytearray(INCARNATION))


@pytest.mark.row("EV-10")
def test_a_restarted_server_is_another_in_the_first_command_that_reaches_it(server: RedisServer, client: Redis) -> None:
    before = incarnation(client)
    assert before == expected(client)
    restart(server)
    after = incarnation(client)  # over a connection that redis-py believes open when it packs the command
    assert after == expected(client)
    assert after != before


@pytest.mark.row("EV-10")
def test_a_restarted_server_is_another_in_the_first_pipeline_that_reaches_it(
    server: RedisServer, client: Redis
) -> None:
    before = incarnation(client)
    restart(server)
    pipeline = client.pipeline(transaction=False)
    pipeline.echo(INCARNATION)
    assert pipeline.execute() == [expected(client).encode()]
    assert expected(client) != before


@pytest.mark.row("EV-10")
def test_a_failover_and_back_is_another_incarnation_under_the_same_run_id(client: Redis, tmp_path: Path) -> None:
    """Rule replid."""
    before = incarnation(client)
    with promoted_beside_its_master(client, tmp_path):
        pass
    client.connection_pool.disconnect()  # as a failover does to every client
    after = incarnation(client)
    assert after.partition(":")[0] == before.partition(":")[0]
    assert after != before


@pytest.mark.row("RD-21")
def test_a_connection_that_lives_notices_that_its_server_has_another_history(
    server: RedisServer, client: Redis, tmp_path: Path
) -> None:
    client.client_setname("same")
    before = incarnation(client)
    with replica_of(server, tmp_path / "replica"):
        pass
    eventually(lambda: expected(client) != before)
    eventually(lambda: incarnation(client) == expected(client))
    assert client.client_getname() == "same"  # nobody cut it


@pytest.mark.row("RD-21")
def test_what_one_connection_has_read_the_others_of_its_client_know(redis_url: str) -> None:
    with connect(redis_url) as client, Redis.from_url(redis_url) as people:
        pool = client.connection_pool
        one, other = pool.get_connection(), pool.get_connection()
        assert one.exchange(("ECHO", INCARNATION)) == other.exchange(("ECHO", INCARNATION))
        change_history(people)
        doubt(client)
        assert one.exchange(("ECHO", INCARNATION)) == expected(people).encode()
        assert other.exchange(("ECHO", INCARNATION)) == expected(people).encode()


@pytest.mark.row("RD-21")
def test_what_a_replica_says_of_itself_is_asked_again_each_time(server: RedisServer, client: Redis) -> None:
    """After that it may be a master with the data of another: nothing that was read meanwhile holds."""
    incarnation(client)
    client.replicaof("127.0.0.1", 1)
    doubt(client)
    assert incarnation(client) == expected(client)
    client.replicaof("NO", "ONE")
    assert incarnation(client) == expected(client)


@pytest.mark.row("ST-40")
def test_a_promoted_replica_that_has_forgotten_its_master_may_still_be_one(client: Redis, tmp_path: Path) -> None:
    """Rule oldmaster."""
    wait = timedelta(seconds=15)
    assert not may_be_promoted(client, wait)
    client.config_set("repl-backlog-ttl", 1)
    with promoted_beside_its_master(client, tmp_path):
        eventually(lambda: not may_be_promoted(client, timedelta(0)))
    assert may_be_promoted(client, wait)
    client.config_set("repl-backlog-ttl", 3600)  # it was promoted an hour ago, then
    assert not may_be_promoted(client, wait)


def wait_for_replication(client: Redis) -> None:
    def linked() -> bool:
        info: Any = client.info("replication")
        return bool(info["master_link_status"] == "up")

    eventually(linked)


@pytest.mark.parametrize(
    ("url", "kind"), [("rediss://127.0.0.1:1/0", SSLConnection), ("unix:///tmp/none", UnixDomainSocketConnection)]
)
def test_every_kind_of_connection_knows_its_server(url: str, kind: type) -> None:
    made = connect(url).connection_pool.connection_class
    assert issubclass(made, kind)
    assert issubclass(made, IncarnationAware)


def test_replies_are_bytes_whatever_the_options_say(redis_url: str) -> None:
    with connect(redis_url, decode_responses=True) as client:
        assert client.echo("a") == b"a"
