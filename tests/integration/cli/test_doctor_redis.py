"""The doctor's look at Redis: content with the sandbox's, and red on each setting that costs data."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import Result

from berthmaster.redis.incarnation import connect
from compose.sandbox.redis_server import RedisServer
from tests.support.command_line import berthmaster
from tests.support.faults.tcp_proxy import TcpProxy
from tests.support.waiting import eventually

AHEAD = 3600


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
def durable(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path, password="p").start()
    yield server
    server.kill()


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


@pytest.mark.parametrize(
    "spoil, name, said",
    [
        (["CONFIG", "SET", "appendonly", "no"], "Redis keeps an append-only file", "a crash loses data"),
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
