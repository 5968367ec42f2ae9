"""Whose a Redis is: what the commands say of another fleet's, and how one is moved on purpose."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from redis import Redis

from berthmaster import routing
from berthmaster.redis.identity import Identity
from events.workqueue import Mark, Workqueue
from tests.fixtures.kube import SandboxKube
from tests.support.command_line import berthmaster

OLD = Identity("blue", "uid-of-another")


@pytest.fixture
def system(kube_sandbox: SandboxKube) -> str:
    return str(kube_sandbox.api.get("/api/v1/namespaces/kube-system")["metadata"]["uid"])


@pytest.fixture
def queue(redis: Redis) -> Workqueue:
    """Of a cluster of the same name, with one pod that lives."""
    queue = Workqueue(redis, hint_queue=routing.LATENCY)
    assert queue.assume_epoch("1:old", OLD)
    queue.marks("1:old", [Mark("pod/games/a", 1, "uid", gone=False, body=b"{}")], relist=True)
    assert queue.stamp("1:old")
    return queue


def adopt(places: dict[str, str], *arguments: str) -> tuple[int, dict[str, Any]]:
    result = berthmaster(places, "adopt-redis", "--json", *arguments)
    return result.exit_code, orjson.loads(result.stdout)


@pytest.mark.row("RD-23")
def test_a_redis_is_moved_only_from_the_fleet_that_is_named(
    places: dict[str, str], queue: Workqueue, system: str
) -> None:
    own = f"blue/{system}"
    status, told = adopt(places)
    assert (status, told["owner"], told["fleet"], told["has"]) == (1, str(OLD), own, {"pod": 1})
    assert told["why"] == f"name the fleet that owns it now: --from {OLD}"
    assert adopt(places, "--from", "blue") == (1, told | {"why": "it does not belong to blue"})
    assert adopt(places, "--from", str(OLD), "--dry-run") == (0, told | {"why": ""})
    assert queue.owner() == OLD
    assert adopt(places, "--from", str(OLD)) == (0, told | {"why": "", "done": True})
    assert queue.owner() == Identity("blue", system)
    status, told = adopt(places)
    assert (status, told["why"]) == (0, "it belongs to this fleet already")


@pytest.mark.row("RD-23")
def test_people_read_what_is_there_and_what_follows(places: dict[str, str], queue: Workqueue) -> None:
    result = berthmaster(places, "adopt-redis", "--from", str(OLD), "--dry-run")
    assert result.output.startswith(f"This Redis belongs to {OLD} and knows: pod 1\nThis fleet is blue/")
    assert result.output.endswith("listeners of pods that do not exist here\nIt could be adopted\n")


@pytest.mark.row("RD-23")
def test_a_redis_that_belongs_to_nobody_is_left_to_its_publisher(places: dict[str, str]) -> None:
    status, told = adopt(places)
    assert (status, told["owner"], told["done"]) == (0, "", False)
    assert "belongs to no fleet" in told["why"]


@pytest.mark.row("RD-23")
def test_the_doctor_tells_clusters_of_one_name_apart(places: dict[str, str], queue: Workqueue) -> None:
    checks = orjson.loads(berthmaster(places, "doctor", "--json").output)
    [check] = [check for check in checks if check["name"] == "Redis belongs to this fleet"]
    assert not check["ok"]
    assert check["found"].startswith(f"this Redis belongs to fleet {OLD}, and this process to fleet blue/")


@pytest.mark.row("RD-23")
@pytest.mark.parametrize(
    "command",
    ["status", "jobs ci/runners", "confirm ci/runners job 1-1", "cancel ci/runners job", "explain job ci/runners job"],
)
def test_commands_of_another_fleet_are_refused(places: dict[str, str], queue: Workqueue, command: str) -> None:
    result = berthmaster({**places, "BERTHMASTER_CLUSTER": "green"}, *command.split())
    assert result.exit_code == 1
    said = " ".join(result.output.split())
    assert f"this Redis belongs to fleet {OLD}, and this process to fleet green" in said
    assert "does Redis run?" not in said
