"""The doctor's look at Redis: content with the sandbox's, and red on each setting that costs data."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from celery import Celery
from redis import Redis
from typer.testing import Result

from berthmaster import routing
from berthmaster.redis.identity import Identity
from berthmaster.redis.incarnation import connect
from compose.sandbox.redis_server import RedisServer
from tests.fixtures.kube import SandboxKube
from tests.support.command_line import berthmaster
from tests.support.faults.tcp_proxy import TcpProxy
from tests.support.running_fleet import leave_lease, leave_stamp
from tests.support.servers.clustered import ClusterServer
from tests.support.waiting import eventually
from workers.stores.ticks import REMEMBERED, done_key

AHEAD = 3600
FLEET = Identity("blue")


class SlowLoader(RedisServer):
    """Takes 50 ms a key to load what it has, and answers meanwhile."""

    def command(self) -> list[str]:
        slow = ["--key-load-delay", "50000", "--loading-process-events-interval-bytes", "1024"]
        return [*super().command(), "--enable-debug-command", "yes", *slow]


class FastClock(TcpProxy):
    """A Redis whose clock is an hour ahead."""

    def passed(self, data: bytes) -> bytes:
        return re.sub(rb"(?<=\*2\r\n\$10\r\n)\d{10}", lambda told: b"%d" % (int(told[0]) + AHEAD), data)


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path, password="p").start()
    yield server
    server.kill()


@pytest.fixture
def durable(empty: RedisServer, kube_sandbox: SandboxKube) -> RedisServer:
    """That of a fleet whose processes run."""
    leave_stamp(empty.url, FLEET)
    leave_lease(kube_sandbox)
    return empty


def examined(places: dict[str, str], url: str) -> tuple[Result, dict[str, Any]]:
    result = berthmaster({**places, "BERTHMASTER_REDIS__URL": url}, "doctor", "--json")
    return result, {check["name"]: check for check in orjson.loads(result.stdout)}


def failing(places: dict[str, str], url: str) -> dict[str, str]:
    result, checks = examined(places, url)
    wrong = {name: check["found"] for name, check in checks.items() if not check["ok"]}
    assert result.exit_code == (1 if wrong else 0)
    return wrong


def test_the_doctor_is_content_with_what_the_sandbox_runs(places: dict[str, str], durable: RedisServer) -> None:
    result = berthmaster({**places, "BERTHMASTER_REDIS__URL": durable.url}, "doctor")
    assert result.exit_code == 0, result.output
    assert "fail" not in result.output
    assert "warn" not in result.output


PUBLISHER, PROCESSES, LEASE = "Publisher has listed the cluster", "Beat and workers run", "Publisher runs"


@pytest.mark.row("RD-26")
def test_a_redis_that_no_publisher_has_written_to_is_a_warning_that_names_what_to_start(
    places: dict[str, str], empty: RedisServer
) -> None:
    result, checks = examined(places, empty.url)
    assert result.exit_code == 0
    assert [name for name, check in checks.items() if check["warns"]] == [PUBLISHER, PROCESSES, LEASE]
    assert "no publisher has ever written here: start it" in checks[PUBLISHER]["found"]
    assert "is the database number in BERTHMASTER_REDIS__URL right?" in checks[PUBLISHER]["found"]
    assert "start beat (`berthmaster beat`) and workers" in checks[PROCESSES]["found"]
    assert "start it (`berthmaster publisher`)" in checks[LEASE]["found"]


@pytest.mark.row("RD-26")
def test_processes_of_a_fleet_that_have_stopped_fail_with_what_to_start(
    places: dict[str, str], durable: RedisServer, kube_sandbox: SandboxKube
) -> None:
    client: Any = connect(durable.url)
    key = done_key(routing.QUEUE_TICK)
    client.pexpire(key, REMEMBERED - timedelta(minutes=5))
    leave_lease(kube_sandbox).release()
    wrong = failing(places, durable.url)
    assert list(wrong) == [PROCESSES, LEASE]
    assert wrong[PROCESSES].startswith("the last tick was done 5 min ")
    assert "beat has sent none: start beat" in wrong[PROCESSES]
    assert "nobody holds the Lease" in wrong[LEASE]
    client.rpush(routing.MAINTENANCE, b"a tick", b"another")
    assert "with 2 messages in the queue berthmaster.maintenance: no worker" in failing(places, durable.url)[PROCESSES]
    client.delete("{queue}meta", routing.MAINTENANCE)
    leave_stamp(durable.url, FLEET)
    client.hset("{queue}meta", "run", "another process")
    wrong = failing(places, durable.url)
    assert list(wrong) == [PUBLISHER, LEASE]
    assert "workers take nothing until then; the last one was publisher-a: start it" in wrong[PUBLISHER]


@pytest.mark.parametrize(
    "spoil, name, said",
    [
        (["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"], "Redis evicts nothing", "set maxmemory-policy"),
        (["REPLICAOF", "127.0.0.1", "1"], "Redis is a primary", "slave: name its primary"),
        (["CONFIG", "SET", "maxmemory", "1000"], "Redis has memory left", "it refuses writes"),
    ],
)
def test_each_setting_that_costs_data_is_a_line_of_its_own(
    places: dict[str, str], durable: RedisServer, spoil: list[str], name: str, said: str
) -> None:
    client: Any = connect(durable.url)
    client.execute_command(*spoil)
    wrong = failing(places, durable.url)
    assert list(wrong) == [name]
    assert said in wrong[name]


@pytest.mark.row("ST-40")
def test_a_server_without_an_append_only_file_is_a_warning_that_says_what_it_costs(
    places: dict[str, str], durable: RedisServer
) -> None:
    client: Any = connect(durable.url)
    client.config_set("appendonly", "no")
    result, checks = examined(places, durable.url)
    assert result.exit_code == 0
    assert [name for name, check in checks.items() if check["warns"]] == ["Redis keeps an append-only file"]
    assert "grants nothing for a minute or two" in checks["Redis keeps an append-only file"]["found"]


@pytest.mark.row("ST-41")
def test_a_replica_without_sentinel_is_a_warning_until_an_old_master_refuses_to_write_alone(
    places: dict[str, str], durable: RedisServer, tmp_path: Path
) -> None:
    client: Any = connect(durable.url)
    replica = RedisServer(tmp_path / "replica", appendonly=False).start()
    try:
        client.config_set("repl-diskless-sync-delay", 0)
        with Redis.from_url(replica.url) as own:
            own.config_set("masterauth", "p")
            own.replicaof("127.0.0.1", durable.port)
        eventually(lambda: client.wait(1, 1000) == 1)
        leave_stamp(durable.url, FLEET)  # with its first replica the server begins another history
        for least in (0, 1):
            client.config_set("min-replicas-to-write", least)
            result, checks = examined(places, durable.url)
            assert result.exit_code == 0
            alone = checks["Master takes nothing alone"]
            assert (alone["ok"], alone["warns"]) == (True, not least)
            assert ("set min-replicas-to-write 1" in alone["found"]) is not bool(least)
    finally:
        replica.kill()


@pytest.mark.row("ST-46")
def test_cluster_mode_of_state_or_broker_is_said_with_the_way_out(
    places: dict[str, str], durable: RedisServer, tmp_path: Path
) -> None:
    server = ClusterServer(tmp_path / "clustered", appendonly=False).start()
    try:
        state = failing(places, server.url)
        broker = failing({**places, "BERTHMASTER_BROKER__URL": server.url}, durable.url)
    finally:
        server.kill()
    assert list(state) == ["Redis is of a kind that works"]
    assert list(broker) == ["broker is of a kind that works"]
    for said in (*state.values(), *broker.values()):
        assert "cluster mode" in said
        assert "docs/install.md" in said


@pytest.mark.row("HO-12")
def test_a_server_that_lets_everybody_in_is_a_warning_with_the_way_out(
    places: dict[str, str], durable: RedisServer
) -> None:
    client: Any = connect(durable.url)
    for change in (["ACL", "SETUSER", "default", "nopass"], ["ACL", "SETUSER", "default", "resetpass", ">p"]):
        client.execute_command(*change)
        _, checks = examined(places, durable.url)
        check = checks["Redis asks for a password"]
        assert check["warns"] is ("nopass" in change)
        assert ("set requirepass" in check["found"]) is ("nopass" in change)


@pytest.mark.row("ST-08")
def test_tasks_that_were_sent_without_a_queue_are_a_warning(places: dict[str, str], durable: RedisServer) -> None:
    with Celery("sender", broker=durable.url, set_as_current=False) as sender:
        sender.send_task(routing.SLOTS_SUBMIT, [{}])
        sender.send_task(routing.SLOTS_SUBMIT, [{}], priority=9)
    result, checks = examined(places, durable.url)
    assert result.exit_code == 0
    assert [name for name, check in checks.items() if check["warns"]] == ["Senders name a queue"]
    assert "the list celery has 2 messages" in checks["Senders name a queue"]["found"]


def test_memory_that_is_nearly_used_up_is_a_warning(places: dict[str, str], durable: RedisServer) -> None:
    client: Any = connect(durable.url)
    client.config_set("maxmemory", int(client.info("memory")["used_memory"] / 0.82))
    result, checks = examined(places, durable.url)
    assert result.exit_code == 0
    assert [name for name, check in checks.items() if check["warns"]] == ["Redis has memory left"]
    assert "of maxmemory in use" in checks["Redis has memory left"]["found"]


def test_a_clock_that_is_another_one_is_found(places: dict[str, str], durable: RedisServer) -> None:
    proxy = FastClock(durable.port)
    wrong = failing(places, f"redis://:p@127.0.0.1:{proxy.port}/0")
    proxy.close()
    assert list(wrong) == ["Clock of Redis"]
    assert re.search(r"^(3600\.\d|3599\.9) s ahead of this machine: let both follow NTP", wrong["Clock of Redis"])


def test_a_server_that_still_loads_its_data_is_not_there_yet(places: dict[str, str], tmp_path: Path) -> None:
    server = SlowLoader(tmp_path).start()
    client: Any = connect(server.url)
    for n in range(400):
        client.set(f"k{n}", secrets.token_bytes(1024))
    client.execute_command("BGREWRITEAOF")
    eventually(lambda: client.info("persistence")["aof_rewrite_in_progress"] == 0)
    server.kill()
    server.start()
    try:
        wrong = failing(places, server.url)
    finally:
        server.kill()
    assert wrong == {"Redis has its data": "still loading it, wait"}


def test_a_server_that_does_not_answer_is_said_with_the_way_out(places: dict[str, str]) -> None:
    wrong = failing(places, "redis://127.0.0.1:1/0")
    assert "is BERTHMASTER_REDIS__URL right" in wrong["Redis answers"]


def test_a_broker_of_its_own_that_does_not_answer_is_said(places: dict[str, str], durable: RedisServer) -> None:
    environment = {**places, "BERTHMASTER_BROKER__URL": "redis://127.0.0.1:1/0"}
    assert list(failing(environment, durable.url)) == ["broker answers"]


@pytest.mark.row("RD-27")
@pytest.mark.parametrize(("user", "said"), [(":wrong@", "are user and password in"), ("", "name user and password in")])
def test_a_wrong_password_is_no_redis_that_is_away(
    places: dict[str, str], empty: RedisServer, user: str, said: str
) -> None:
    wrong = failing(places, empty.url.replace("default:p@", user))["Redis answers"]
    assert f": {said} BERTHMASTER_REDIS__URL" in wrong
    assert not re.search(r"does Redis run|doctor|\.:", wrong)
