"""Connections lead to the master that the sentinels name, know who it is, and leave it when it is that no more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.retry import Retry

from berthmaster.redis.client import connect_state
from berthmaster.redis.incarnation import INCARNATION, STATE_VERSION, ask, connect, incarnation
from berthmaster.redis.outage import OUTAGE
from berthmaster.redis.sentinels import Sentinels
from berthmaster.redis.settings import RedisSettings
from tests.support.servers.sentinel_group import Member, SentinelGroup
from tests.support.waiting import eventually

PUSH = "return redis.call('RPUSH', KEYS[1], ARGV[1])"


def client_of(url: str) -> Redis:
    return connect_state(RedisSettings(url=url))


@pytest.fixture
def client(group: SentinelGroup) -> Iterator[Redis]:
    with client_of(group.url) as made:
        yield made


class Counted(NoBackoff):
    """Counts how often it is asked what to wait before another attempt, for every copy of the policy together."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __deepcopy__(self, _: object) -> Counted:
        return self

    def compute(self, failures: int) -> float:
        self.asked.append(failures)
        return 0.0


def expected(member: Member) -> bytes:
    with member.client() as client:
        server: Any = client.info("server")
        replication: Any = client.info("replication")
    return f"{server['run_id']}:{replication['master_replid']}:{STATE_VERSION}".encode()


def cut(member: Member) -> None:
    """What sentinels do to the clients of a master that they demote."""
    with member.client() as client:
        client.execute_command("CLIENT", "KILL", "TYPE", "normal")


def test_commands_pipelines_and_scripts_say_who_the_master_is(shared: SentinelGroup) -> None:
    with client_of(shared.url) as client:
        name = expected(shared.master())
        assert incarnation(client).encode() == name
        assert ask(client, "ECHO", INCARNATION) == name
        for transaction in (False, True):
            pipeline = client.pipeline(transaction=transaction)
            pipeline.set("a", INCARNATION)
            pipeline.get("a")
            assert pipeline.execute() == [True, name]


@pytest.mark.row("EV-10")
@pytest.mark.parametrize("how", ["command", "plain", "pipeline"])
def test_after_a_failover_the_first_command_is_of_another_incarnation(
    group: SentinelGroup, client: Redis, how: str
) -> None:
    old = group.master()
    before = incarnation(client)
    new = group.fail_over()
    cut(old)
    assert said(client, how) == expected(new) != before.encode()


def said(client: Redis, how: str) -> Any:
    if how == "plain":
        return ask(client, "ECHO", INCARNATION)
    if how == "command":
        return client.echo(INCARNATION)
    pipeline = client.pipeline(transaction=False)
    pipeline.echo(INCARNATION)
    return pipeline.execute()[0]


@pytest.mark.row("EV-10")
@pytest.mark.parametrize("how", ["plain", "script", "pipeline"])
def test_a_connection_that_finds_its_master_demoted_asks_for_the_new_one(
    group: SentinelGroup, client: Redis, how: str
) -> None:
    """The server says READONLY to a write over a connection that nobody has cut."""
    connection = client.connection_pool.get_connection()
    client.connection_pool.release(connection)
    old, new = group.master(), group.fail_over()
    with old.client() as admin:
        admin.execute_command("REPLICAOF", "127.0.0.1", new.port)
    if how == "plain":
        ask(client, "SET", "a", INCARNATION)
    elif how == "script":
        ask(client, "EVAL", "return redis.call('SET', KEYS[1], ARGV[1])", 1, "a", INCARNATION)
    else:
        pipeline = client.pipeline(transaction=False)
        pipeline.set("a", INCARNATION)
        pipeline.execute()
    with new.client() as direct:
        assert direct.get("a") == expected(new)


def test_a_server_that_says_it_is_a_replica_is_no_master_whatever_sentinels_say(
    group: SentinelGroup, client: Redis
) -> None:
    """Reads from it would be answered, and old."""
    for sentinel in group.sentinels:
        sentinel.pause()  # they would mend it
    named = group.sentinels[0]
    named.resume()
    with group.master().client() as admin:
        admin.execute_command("REPLICAOF", "127.0.0.1", "1")
    with pytest.raises(OUTAGE, match=r"no master any more|names a master"):
        client.get("a")
    for sentinel in group.sentinels[1:]:
        sentinel.resume()


@pytest.mark.row("EV-10")
def test_a_master_that_dies_is_an_outage_until_another_is_named(group: SentinelGroup, client: Redis) -> None:
    client.set("kept", 1)
    assert client.wait(1, 5000) == 1
    before = incarnation(client)
    old = group.master()
    old.kill()
    with pytest.raises(OUTAGE):
        client.get("kept")
    new = group.await_other(old)
    eventually(lambda: reached(client))
    assert client.get("kept") == b"1"
    assert incarnation(client).encode() == expected(new) != before.encode()


def test_a_master_that_falls_silent_is_waited_for_once_an_attempt(group: SentinelGroup) -> None:
    """Attempts to connect within attempts to send would make nine of three, and a lease may end meanwhile."""
    again = Counted()
    quick = connect(group.url, socket_timeout=0.3, retry=Retry(again, 2))
    ask(quick, "PING")
    silent = group.master()
    silent.daemon.pause()
    with pytest.raises(OUTAGE):
        ask(quick, "PING")
    assert len(again.asked) == 2
    silent.daemon.resume()
    quick.close()


def reached(client: Redis) -> bool:
    try:
        return bool(client.ping())
    except RedisError:
        return False


def test_one_sentinel_that_lives_is_enough_to_find_the_master(group: SentinelGroup) -> None:
    for sentinel in group.sentinels[:2]:
        sentinel.kill()
    with client_of(group.url) as client:
        assert client.ping()
        assert len(client.connection_pool.sentinel_manager.sentinels) == 3


def test_a_master_that_no_sentinel_knows_is_an_outage_that_names_it(shared: SentinelGroup) -> None:
    with client_of(shared.url.replace("/berths/", "/births/")) as client, pytest.raises(OUTAGE, match="births"):
        client.ping()


@pytest.mark.row("EV-17")
@pytest.mark.parametrize("spoil", ["of-sentinels", "of-master"])
def test_a_wrong_password_of_either_is_an_outage_that_does_not_say_it(careful: SentinelGroup, spoil: str) -> None:
    with client_of(careful.url) as client:
        assert client.ping()
    with client_of(careful.url.replace(spoil, "wr0ng")) as wrong, pytest.raises(OUTAGE) as caught:
        wrong.ping()
    assert "wr0ng" not in str(caught.value)


@pytest.mark.row("EV-10")
def test_what_a_master_took_is_not_lost_in_a_failover_if_it_takes_nothing_alone(careful: SentinelGroup) -> None:
    """Sentinels demote the old master seconds after the new one is named: it must not take writes meanwhile."""
    with client_of(careful.url) as client:
        taken = [number for number in range(20) if client.rpush("taken", number)]
        assert client.wait(1, 5000) == 1
        new = careful.fail_over()
        with pytest.raises(OUTAGE):
            client.rpush("taken", "lost")
        with pytest.raises(OUTAGE):
            ask(client, "EVAL", PUSH, 1, "taken", "lost")
        eventually(lambda: pushed(client, taken), timeout=40)
        listed: Any = client.lrange("taken", 0, -1)
        assert [int(each) for each in listed] == taken
        assert incarnation(client).encode() == expected(new)


def pushed(client: Redis, taken: list[int]) -> bool:
    try:
        client.rpush("taken", len(taken))
    except OUTAGE:
        return False
    taken.append(len(taken))
    return True


def test_a_client_that_is_closed_leaves_no_connection_to_a_sentinel(shared: SentinelGroup) -> None:
    client = connect(shared.url)
    client.ping()
    manager: Any = client.connection_pool
    pools = [one.connection_pool for one in manager.sentinel_manager.sentinels]
    used: list[Any] = [connection for pool in pools for connection in pool._available_connections]
    assert any(connection.is_connected for connection in used)
    client.close()
    assert not any(connection.is_connected for connection in used)


class Interrupted:
    """A sentinel; while it answers for the first time, another thread asks for the master as well."""

    def __init__(self) -> None:
        self.meanwhile: Any = lambda: None

    def sentinel_masters(self) -> dict[str, Any]:
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        state = {"is_master": True, "is_sdown": False, "is_odown": False, "num-other-sentinels": 2}
        return {"berths": {**state, "ip": "127.0.0.1", "port": 6379}}


class Silent:
    def sentinel_masters(self) -> dict[str, Any]:
        raise RedisConnectionError("away")


def test_threads_that_ask_at_once_forget_no_sentinel() -> None:
    made: Any = Sentinels
    manager, second = made([]), Interrupted()
    manager.sentinels = [Silent(), second, Silent()]
    second.meanwhile = lambda: manager.discover_master("berths")
    assert manager.discover_master("berths") == ("127.0.0.1", 6379)
    assert len(set(manager.sentinels)) == 3
