"""A real server that dies, comes back with an old copy, or hands over to a replica: not ready until rebuilt."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from berthmaster.redis.incarnation import connect, doubt
from compose.sandbox.redis_server import RedisServer
from tests.support.faults.living_redis import change_history
from tests.support.faults.redis_restart import restart
from tests.support.ports.builders import active_pool, load_balancer
from tests.support.ports.live_pool import IN_ORDER, LivePool, single
from tests.support.waiting import eventually
from workers.stores.ports.ledger import Granted, NotReady


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    started = RedisServer(tmp_path / "redis").start()
    yield started
    started.kill()


@pytest.fixture
def client(server: RedisServer) -> Iterator[Redis]:
    """Of a server that has on disk what it has answered."""
    made = connect(server.url)
    made.config_set("appendfsync", "always")
    yield made
    made.close()


@pytest.mark.row("AL-19", "AL-20", "EV-13")
def test_a_restarted_server_is_not_ready_although_it_has_all_data(server: RedisServer, client: Redis) -> None:
    pool = active_pool(client)
    held = pool.allocate("games/a", 2)
    paused = pool.run("games/b")
    restart(server)
    assert pool.held() == {"games/a": held}
    with pytest.raises(NotReady):
        paused.allocate("uid-of-b", single(1), IN_ORDER)
    with pytest.raises(NotReady):
        pool.run("games/a")
    pool.rebuild({"games/a": held})
    pool.configure([load_balancer()])
    with pytest.raises(NotReady):
        paused.leave()
    assert pool.ports("games/b") == [("lb-0", 30002)]


@pytest.mark.row("AL-19", "AL-20", "EV-13")
def test_an_old_copy_gives_nothing_out_twice(server: RedisServer, client: Redis, tmp_path: Path) -> None:
    """The copy knows nothing of `b`, whose listener AWS has: the port would be given to `c`."""
    pool = active_pool(client)
    pool.allocate("games/a")
    shutil.copytree(server.directory, tmp_path / "copy")
    lost = pool.allocate("games/b")
    server.kill()
    shutil.rmtree(server.directory)
    shutil.copytree(tmp_path / "copy", server.directory)
    restart(server)
    assert "games/b" not in pool.held()
    with pytest.raises(NotReady):
        pool.run("games/c")
    pool.rebuild({"games/b": lost})
    pool.configure([load_balancer()])
    assert pool.ports("games/c") == [("lb-0", 30000)]  # `a` had no listener and shows nothing: it asks again
    assert pool.ports("games/a") == [("lb-0", 30002)]


@pytest.mark.row("AL-19")
def test_a_rebuild_of_before_is_refused_by_a_copy_that_has_its_mark(server: RedisServer, client: Redis) -> None:
    """Rule stampfence: the mark came back with the data, but the server is another; what it lists may be old."""
    pool = LivePool(client, "arena", 30000, 10)
    mark = pool.growth.begin_rebuild()
    assert mark
    restart(server)
    assert not pool.growth.stamp(mark, 30000, {})
    pool.rebuild()


@pytest.mark.row("AL-20")
def test_a_promoted_replica_is_not_ready(server: RedisServer, client: Redis, tmp_path: Path) -> None:
    """And neither is the old master when it is master again under the same run_id: its writes were lost meanwhile."""
    replica = RedisServer(tmp_path / "replica").start()
    try:
        with connect(replica.url) as second:
            for one in (client, second):
                one.config_set("repl-diskless-sync-delay", 0)
            second.replicaof("127.0.0.1", str(server.port))
            pool = active_pool(client)
            pool.allocate("games/a")
            eventually(lambda: client.wait(1, 1000) == 1)
            second.replicaof("NO", "ONE")
            promoted = LivePool(second, "arena", 30000, 1000)
            assert set(promoted.held()) == {"games/a"}
            with pytest.raises(NotReady):
                promoted.run("games/b")
            promoted.rebuild()
            promoted.configure([load_balancer()])
            promoted.allocate("games/b")
            client.replicaof("127.0.0.1", str(replica.port))
            eventually(lambda: second.wait(1, 1000) == 1)
            client.replicaof("NO", "ONE")
            client.connection_pool.disconnect()  # a failover cuts the connections of clients
            with pytest.raises(NotReady):
                pool.run("games/c")
    finally:
        replica.kill()


@pytest.mark.row("RD-21")
def test_a_run_that_has_not_noticed_another_history_grants_nothing_beside_a_rebuild(
    server: RedisServer, client: Redis
) -> None:
    """Rule shut: the rebuild has listed what there is, and would write a ledger without what such a run publishes."""
    old = active_pool(client)
    old.allocate("games/a")
    unaware = old.run("games/b")
    with connect(server.url) as fresh:
        change_history(fresh)
        doubt(fresh)
        pool = LivePool(fresh, "arena", 30000, 1000)
        mark = pool.growth.begin_rebuild()
        assert mark
        with pytest.raises(NotReady):
            unaware.allocate("uid-of-b", single(1), IN_ORDER)
        assert pool.growth.stamp(mark, 30000, {})


@pytest.mark.row("RD-21")
def test_a_worker_that_has_not_noticed_another_history_does_not_rebuild_what_is_rebuilt(
    server: RedisServer, client: Redis
) -> None:
    old = active_pool(client)
    with connect(server.url) as fresh:
        change_history(fresh)
        pool = LivePool(fresh, "arena", 30000, 1000)
        pool.rebuild()
        pool.configure([load_balancer()])
        held = pool.allocate("games/a")
        assert old.growth.begin_rebuild() is None
        assert pool.held() == {"games/a": held}
        pool.allocate("games/b")


@pytest.mark.row("AL-02", "AL-19")
def test_a_script_that_was_cut_off_has_done_all_or_nothing(server: RedisServer, client: Redis) -> None:
    """Killed at once after the answer: the append-only file has the whole allocation or none of it."""
    pool = active_pool(client)
    for n in range(16):
        answer = pool.try_allocate(f"games/p{n}", 3)
        assert isinstance(answer, Granted)
    restart(server)
    assert pool.faults() == []
