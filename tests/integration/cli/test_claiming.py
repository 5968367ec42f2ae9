"""`berthmaster claim` and `berthmaster release`, and what `explain claim` says of the address."""

from __future__ import annotations

import re
from typing import Any

import orjson
import pytest
from redis import Redis
from typer.testing import Result

from berthmaster.claims.request import NewClaim
from compose.sandbox.free_ports import free_port
from domain.kubernetes.objects import KubeObject
from tests.fixtures.kube import SandboxKube
from tests.integration.claims.test_addresses import asking, endpoint, ports, shown
from tests.support.claims.claim_desk import ClaimDesk
from tests.support.claims.claim_world import ClaimWorld
from tests.support.command_line import berthmaster
from tests.support.waiting import eventually
from workers.cli.releasing import is_left


@pytest.fixture
def world(places: dict[str, str], kube_sandbox: SandboxKube, redis: Redis) -> ClaimWorld:
    del places  # our kinds are served
    made = ClaimWorld(redis, kube_sandbox.api, kube_sandbox.namespace)
    made.pool(labels={"map": "dunes"})
    made.owned_by("blue")
    return made


@pytest.fixture
def empty(places: dict[str, str], redis: Redis, redis_url: str) -> dict[str, str]:
    """A Redis that no fleet has claimed."""
    redis.flushdb()
    return places | {"BERTHMASTER_REDIS__URL": redis_url}


def document(result: Result) -> dict[str, Any]:
    """Return the JSON of a command. The thread of a desk logs beside it while the runner sets up its streams."""
    (text,) = re.findall(r"^\{$.*?^\}$", result.stdout, re.MULTILINE | re.DOTALL)
    parsed: dict[str, Any] = orjson.loads(text)
    return parsed


@pytest.mark.row("CL-41")
def test_a_pod_is_claimed_with_its_address_and_released(places: dict[str, str], world: ClaimWorld) -> None:
    asking(world)
    world.label("p1", "map", "dunes")
    world.offer()
    ports(world, "Bound", endpoint())
    asked = ("claim", f"{world.namespace}/warm", "--label", "map=dunes", "--timeout", "60s")
    with ClaimDesk(world, publishes=True):
        told = document(berthmaster(places, *asked, "--json"))
        assert (told["pod"], told["ips"], told["endpoints"]) == ("p1", ["10.0.0.7"], [shown()])
        explained = berthmaster(places, "explain", "claim", told["claim"])
        assert f"endpoints: {shown()['address']}" in explained.stdout
        eventually(lambda: world.queue.snapshot(f"podclaim/{told['claim']}") is not None, 60)
        released = berthmaster(places, "release", told["claim"])
        assert (released.exit_code, f"{told['claim']} is released\n" in released.stdout) == (0, True)
        eventually(lambda: world.claims() == [], 60)
    assert world.holder("p1") == "Draining"


@pytest.mark.row("CL-41")
def test_people_read_where_their_pod_is_and_how_to_give_it_back(places: dict[str, str], world: ClaimWorld) -> None:
    asking(world)
    ports(world, "Bound", endpoint())
    with ClaimDesk(world):
        said = berthmaster(places, "claim", f"{world.namespace}/warm", "--timeout", "60s").stdout
    (claim,) = world.claims()
    name = f"{world.namespace}/{claim.name}"
    assert f"{name} has pod p1: {shown()['address']}\n  berthmaster release {name}" in said


@pytest.mark.row("CL-41")
def test_what_cannot_be_claimed_is_said(places: dict[str, str], world: ClaimWorld) -> None:
    pool = f"{world.namespace}/warm"
    for arguments in (("warm",), (pool, "--ttl", "soon"), (pool, "--timeout", "0s"), (pool, "--label", "dunes")):
        assert berthmaster(places, "claim", *arguments).exit_code == 2
    late = berthmaster(places, "claim", pool, "--timeout", "100ms")
    assert (late.exit_code, "has no pod within 0.1 s: no worker has answered" in late.stderr) == (1, True)
    assert berthmaster(places, "release", "x").exit_code == 2


@pytest.mark.row("CL-44")
def test_a_release_of_a_claim_that_is_not_there_says_so_and_sends_nothing(
    places: dict[str, str], world: ClaimWorld
) -> None:
    name = f"{world.namespace}/never-was"
    released = berthmaster(places, "release", name)
    assert (released.exit_code, released.stdout) == (1, "")
    assert released.stderr == f"there is no claim {name}: berthmaster status lists all\n"
    assert not world.services.answers.released_until(world.namespace, "never-was")
    world.redis.hdel("{queue}meta", "run")
    unknown = berthmaster(places, "release", name)
    assert (unknown.exit_code, "nobody knows yet" in unknown.stderr) == (1, True)
    assert world.redis.llen("berthmaster.jobs") == 0


@pytest.mark.row("CL-44")
def test_a_claim_of_somebody_else_is_not_released_and_the_way_out_is_named(
    places: dict[str, str], world: ClaimWorld
) -> None:
    world.pod("p1")
    world.bound("a")
    ClaimDesk(world).publish_all()
    name, way_out = f"{world.namespace}/a", f"kubectl delete podclaim a -n {world.namespace}"
    for options in ((), ("--dry-run",)):
        released = berthmaster(places, "release", name, *options)
        assert (released.exit_code, released.stdout, way_out in released.stderr) == (1, "", True)
    told = document(berthmaster(places, "release", name, "--json"))
    assert (told["claim"], told["pod"], told["done"], way_out in told["why"]) == (name, "p1", False, True)
    assert (world.redis.llen("berthmaster.jobs"), world.holder("p1")) == (0, "Bound a")


@pytest.mark.row("CL-44")
def test_a_dry_run_releases_nothing_and_a_release_says_what_it_did(places: dict[str, str], world: ClaimWorld) -> None:
    world.pod("p1")
    pool, name = f"{world.namespace}/warm", f"{world.namespace}/match-1"
    with ClaimDesk(world, publishes=True):
        berthmaster(places, "claim", pool, "--name", "match-1", "--owner", "alice", "--timeout", "60s")
        (claim,) = world.claims()
        assert (claim.name, claim.spec["ownerName"]) == ("match-1", "alice")
        eventually(lambda: world.queue.snapshot(f"podclaim/{name}") is not None, 60)
        tried = berthmaster(places, "release", name, "--dry-run")
        assert (tried.exit_code, f"{name} could be released\n" in tried.stdout) == (0, True)
        assert not world.services.answers.released_until(world.namespace, "match-1")
        released = document(berthmaster(places, "release", name, "--json"))
        assert released == {"claim": name, "pod": "p1", "done": True, "why": ""}


@pytest.mark.row("CL-44")
def test_a_claim_counts_as_released_once_it_is_being_deleted(places: dict[str, str], world: ClaimWorld) -> None:
    world.pod("p1")
    key, desk = f"podclaim/{world.namespace}/a", ClaimDesk(world)
    desk.requests.create(NewClaim(name="a", pool=f"{world.namespace}/warm"))
    world.run()
    desk.publish_all()
    uid = KubeObject(world.read()).uid
    assert is_left(world.queue, key, uid, 0), "no worker has taken the message"
    assert not is_left(world.queue, key, "another", 0), "that claim went, and its name is another's"
    world.delete()
    desk.publish_all()
    assert not is_left(world.queue, key, uid, 0)
    again = berthmaster(places, "release", f"{world.namespace}/a")
    assert (again.exit_code, "it is being deleted already" in again.stderr) == (1, True)


@pytest.mark.row("CL-44")
@pytest.mark.parametrize("command", [("claim", "games/warm"), ("release", "games/a")])
def test_redis_that_is_away_or_another_is_said_at_once(empty: dict[str, str], command: tuple[str, ...]) -> None:
    other = berthmaster(empty, *command)
    away = berthmaster(empty | {"BERTHMASTER_REDIS__URL": f"redis://127.0.0.1:{free_port()}/0"}, *command)
    assert (other.exit_code, "no fleet has claimed this Redis" in other.stderr) == (1, True)
    assert (away.exit_code, "Connection refused" in away.stderr) == (1, True)
    assert "berthmaster doctor" in other.stderr
    assert "does Redis run?" in away.stderr
    for result in (other, away):
        assert "BERTHMASTER_REDIS__URL" in result.stderr
        assert (result.stdout, result.stderr.count("\n"), "tasks_unsent" in result.stderr) == ("", 1, False)
