"""Commands about claims as people type them, against a real Redis and the sandbox's Kubernetes API."""

from __future__ import annotations

import orjson
import pytest
from redis import Redis

from domain.kubernetes.names import CORDON, POOL
from tests.fixtures.kube import SandboxKube
from tests.support.claims.claim_world import ClaimWorld
from tests.support.command_line import berthmaster


@pytest.fixture
def world(places: dict[str, str], kube_sandbox: SandboxKube, redis: Redis) -> ClaimWorld:
    del places  # our kinds are served
    made = ClaimWorld(redis, kube_sandbox.api, kube_sandbox.namespace)
    made.pool()
    return made


@pytest.mark.row("WC-27")
def test_migrate_asks_for_a_move_and_the_dry_run_only_says_so(places: dict[str, str], world: ClaimWorld) -> None:
    world.pod("p1")
    world.bound()
    world.pod("p2")
    name = f"{world.namespace}/a"
    said = berthmaster(places, "migrate", name, "--to", "p2", "--dry-run")
    assert (said.exit_code, said.stdout) == (0, f"{name} would move from p1 to p2\n")
    assert "sourcePod" not in world.read()["spec"]
    told = orjson.loads(berthmaster(places, "migrate", name, "--to", "p2", "--json").stdout)
    assert told == {"claim": name, "source": "p1", "target": "p2", "asked": True, "why": ""}
    world.run()
    assert world.holder("p2") == "Bound a"
    again = berthmaster(places, "migrate", name, "--to", "p1")
    assert again.exit_code == 1
    assert "it is moving already, from p1 to p2" in again.stderr


@pytest.mark.row("WC-28")
@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("busy", "claim "),
        ("cordoned", "it is cordoned"),
        ("p1", "it is on p1"),
        ("nowhere", "there is no pod nowhere of a pool"),
        ("elsewhere", "it is of pool cold, and the claim wants one of warm"),
        ("jobs", "it has jobs"),
        ("named", "another claim names it"),
    ],
)
def test_migrate_says_why_a_target_cannot_be_had_and_changes_nothing(
    places: dict[str, str],
    world: ClaimWorld,
    target: str,
    why: str,
) -> None:
    world.pod("p1")
    world.bound()
    world.pod("busy")
    world.bound("b")
    world.pool("cold")
    world.pod("elsewhere", "cold")
    for pod in ("cordoned", "named"):
        world.pod(pod)
    world.annotate("cordoned", CORDON, "true")
    world.pod("jobs", layout=("*",))
    world.slots["warm"].submit("j", "apply")
    world.services.index.remember(world.namespace, "c", "uid-c", ["named"], "run")
    said = berthmaster(places, "migrate", f"{world.namespace}/a", "--to", target)
    assert said.exit_code == 1
    assert why in said.stderr
    assert "sourcePod" not in world.read()["spec"]


def test_a_claim_that_is_not_there_or_badly_named_is_said(places: dict[str, str], world: ClaimWorld) -> None:
    for command in (("migrate", f"{world.namespace}/x", "--to", "p1"), ("explain", "claim", f"{world.namespace}/x")):
        said = berthmaster(places, *command)
        assert (said.exit_code, "there is no PodClaim" in said.stderr) == (1, True)
    assert berthmaster(places, "explain", "claim", "x").exit_code == 2


@pytest.mark.row("WC-10")
def test_explain_says_what_a_claim_waits_for_and_why_no_pod_will_do(places: dict[str, str], world: ClaimWorld) -> None:
    world.pod("p1")
    world.annotate("p1", CORDON, "true")
    world.claim()
    world.run()
    name = f"{world.namespace}/a"
    text = berthmaster(places, "explain", "claim", name).stdout
    assert f"{name}: Pending" in text
    assert "WaitingForPod" in text
    assert "behind 0 claims; pool warm grows for it" in text
    assert "it is cordoned" in text
    told = orjson.loads(berthmaster(places, "explain", "claim", name, "--json").stdout)
    assert told["candidates"] == [{"pod": "p1", "pool": "warm", "phase": "Idle", "why": "it is cordoned"}]
    assert (told["next"], told["ahead"], told["nominated"]) == ("looks for a pod", 0, "warm")


def test_explain_sees_the_pod_of_a_claim_that_no_pool_lists(places: dict[str, str], world: ClaimWorld) -> None:
    world.pod("p1")
    world.bound()
    world.label("p1", POOL, None)
    text = berthmaster(places, "explain", "claim", f"{world.namespace}/a").stdout
    assert "pods with its label: p1 (Bound)" in text
    assert "next: nothing is left to do" in text


@pytest.mark.row("CL-42")
def test_explain_says_when_a_claim_expires(places: dict[str, str], world: ClaimWorld) -> None:
    world.pod("p1")
    world.bound(ttl="1h")
    name = f"{world.namespace}/a"
    expiry = world.read()["status"]["expiryTime"]
    assert f"expires: {expiry}, unless it is renewed" in berthmaster(places, "explain", "claim", name).stdout
    assert orjson.loads(berthmaster(places, "explain", "claim", name, "--json").stdout)["expires"] == expiry
    world.spec(ttl=None)
    assert "expires:" not in berthmaster(places, "explain", "claim", name).stdout


def test_explain_and_status_say_where_a_claim_is(places: dict[str, str], world: ClaimWorld) -> None:
    world.pod("p1")
    world.bound(ownerName="alice")
    name = f"{world.namespace}/a"
    text = berthmaster(places, "explain", "claim", name).stdout
    assert f"{name}: Bound on p1" in text
    assert "next: nothing is left to do" in text
    found = orjson.loads(berthmaster(places, "status", "--json").stdout)["claims"]
    row = {"name": name, "phase": "Bound", "pod": "p1", "node": "", "owner": "alice", "move": "", "why": ""}
    assert row in found
    assert name in berthmaster(places, "status").stdout
