"""The doctor behind sentinels: content with a careful group, and a line for each thing that a failover would show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from berthmaster.broker.address import broker_problem
from berthmaster.redis.identity import Identity
from tests.fixtures.kube import SandboxKube
from tests.support.command_line import berthmaster, places_of
from tests.support.running_fleet import leave_lease, leave_stamp
from tests.support.servers.sentinel_group import MASTER, SentinelGroup
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[3]
ALONE = "Master takes nothing alone"


@pytest.fixture
def places(kube_sandbox: SandboxKube, crds_sandbox: None, careful: SentinelGroup) -> dict[str, str]:
    leave_stamp(careful.url, Identity("blue"))
    leave_lease(kube_sandbox)
    return places_of(kube_sandbox, careful.url)


def examined(places: dict[str, str], **changes: str) -> dict[str, dict[str, Any]]:
    result = berthmaster({**places, **changes}, "doctor", "--json")
    checks = {check["name"]: check for check in orjson.loads(result.stdout)}
    assert result.exit_code == (0 if all(check["ok"] for check in checks.values()) else 1)
    return checks


def marked(checks: dict[str, dict[str, Any]]) -> dict[str, str]:
    """What fails or warns."""
    return {name: check["found"] for name, check in checks.items() if check["warns"] or not check["ok"]}


def address(group: SentinelGroup, of: str, by: str) -> dict[str, str]:
    return {"BERTHMASTER_REDIS__URL": group.url.replace(of, by)}


def test_the_doctor_is_content_with_a_careful_group(places: dict[str, str], careful: SentinelGroup) -> None:
    checks = examined(places)
    assert marked(checks) == {}
    assert checks["Sentinels answer"]["found"] == "3 of 3"
    assert checks["Sentinels know the master"]["found"] == f"berths is 127.0.0.1:{careful.master().port}"
    assert checks["Master has replicas"]["found"] == "1"


def test_a_name_that_no_sentinel_knows_is_said_beside_those_that_they_know(
    places: dict[str, str], careful: SentinelGroup
) -> None:
    wrong = marked(examined(places, **address(careful, "/berths/", "/births/")))
    assert set(wrong) == {"Sentinels know the master", "Redis answers"}
    assert "none knows births, only berths: the master's name is in" in wrong["Sentinels know the master"]
    assert "no sentinel names a master 'births' that answers: is BERTHMASTER_REDIS__URL right" in wrong["Redis answers"]


def test_too_few_sentinels_for_a_failover_fail_and_each_that_is_away_is_named(
    places: dict[str, str], careful: SentinelGroup
) -> None:
    for sentinel in careful.sentinels[1:]:
        sentinel.kill()
    careful.voice.ask("SET", MASTER, "down-after-milliseconds", 500)  # of the others as well
    lacking = "Sentinels could name another master"
    wrong = eventually(lambda: found if lacking in (found := marked(examined(places))) else {})
    assert "NOQUORUM" in wrong[lacking]
    assert wrong["Sentinels answer"].startswith("1 of 3; 127.0.0.1:")


def test_no_sentinel_that_answers_fails(places: dict[str, str], careful: SentinelGroup) -> None:
    for sentinel in careful.sentinels:
        sentinel.kill()
    checks = examined(places)
    assert not checks["Sentinels answer"]["ok"]
    assert checks["Sentinels answer"]["found"].startswith("0 of 3; ")
    assert "of-sentinels" not in str(checks)


def test_one_sentinel_alone_in_the_address_is_a_warning(places: dict[str, str], careful: SentinelGroup) -> None:
    others = "".join(f",127.0.0.1:{sentinel.port}" for sentinel in careful.sentinels[1:])
    wrong = marked(examined(places, **address(careful, others, "")))
    assert list(wrong) == ["Sentinels answer"]
    assert "name the others as well" in wrong["Sentinels answer"]


def test_sentinels_that_name_two_masters_fail(places: dict[str, str], careful: SentinelGroup) -> None:
    lost, other = careful.sentinels[0], careful.replica()
    lost.ask("REMOVE", MASTER)
    lost.ask("MONITOR", MASTER, "127.0.0.1", other.port + 1, 2)
    found = examined(places)["Sentinels know the master"]
    assert not found["ok"]
    assert f"127.0.0.1:{other.port + 1}" in found["found"]


def test_a_master_that_would_go_on_alone_fails_and_one_that_does_so_for_long_is_a_warning(
    places: dict[str, str], careful: SentinelGroup
) -> None:
    checks = examined({**places, "BERTHMASTER_REDIS__FAILOVER_WAIT": "10s"})
    assert checks[ALONE]["ok"]
    assert "cut off, it does so for 10 s, and workers go on with another after 10 s" in marked(checks)[ALONE]
    with careful.master().client() as admin:
        admin.config_set("min-replicas-to-write", 0)
    checks = examined(places)
    assert not checks[ALONE]["ok"]
    assert "set min-replicas-to-write 1" in checks[ALONE]["found"]


def test_a_master_without_replicas_is_a_warning(places: dict[str, str], careful: SentinelGroup) -> None:
    careful.replica().kill()
    found = eventually(lambda: marked(examined(places)).get("Master has replicas"), 20)
    assert found
    assert "nothing to fail over to" in found


RIGHTS = ["on", ">asks", "-@all", "+auth", "+hello", "+ping", "+client", "+sentinel|masters"]


@pytest.mark.row("EV-17")
def test_a_user_of_the_sentinels_who_may_only_ask_is_enough(places: dict[str, str], careful: SentinelGroup) -> None:
    """The rights that docs/security.md names."""
    for sentinel in careful.sentinels:
        with sentinel.client() as admin:
            admin.execute_command("ACL", "SETUSER", "asks", *RIGHTS)
    asking = address(careful, "sentinel_password=of-sentinels%26%3D", "sentinel_username=asks&sentinel_password=asks")
    assert marked(examined(places, **asking)) == {}
    assert broker_problem(asking["BERTHMASTER_REDIS__URL"]) is None
    assert " ".join(RIGHTS).replace(">asks", ">OTHER") in (ROOT / "docs" / "security.md").read_text()
