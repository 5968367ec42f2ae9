"""`berthmaster explain claimset` as people type it, against a real Redis and the sandbox's Kubernetes API."""

from __future__ import annotations

import orjson
import pytest
from redis import Redis

from domain.kubernetes.names import REVISION
from tests.fixtures.kube import SandboxKube
from tests.support.claims.claim_set_world import ClaimSetWorld
from tests.support.command_line import berthmaster


@pytest.fixture
def world(places: dict[str, str], kube_sandbox: SandboxKube, redis: Redis) -> ClaimSetWorld:
    del places  # our kinds are served
    made = ClaimSetWorld(redis, kube_sandbox.api, kube_sandbox.namespace)
    made.settle()
    return made


@pytest.mark.row("WC-30", "WC-34")
def test_explain_says_what_a_set_does_next_and_whom_scaling_in_takes_first(
    places: dict[str, str], world: ClaimSetWorld
) -> None:
    name = f"{world.namespace}/db"
    text = berthmaster(places, "explain", "claimset", name).stdout
    assert f"{name}: 2 wanted; 2 replicas, 2 readyReplicas, 2 updatedReplicas" in text
    assert "next: nothing: 2 claims, each with a ready pod" in text
    assert "scaling in would take db-1 first" in text
    world.set_cost("db-1", 5)
    world.api.patch(world.path("pods", world.pods["db-1"]), {"metadata": {"labels": {REVISION: "r7"}}})
    told = orjson.loads(berthmaster(places, "explain", "claimset", name, "--json").stdout)
    assert (told["wanted"], told["first"], told["surge"]) == (2, "db-0", 0)
    assert told["claims"][1] == {
        "claim": "db-1",
        "phase": "Bound",
        "pod": world.pods["db-1"],
        "revision": "r7",
        "current": True,
        "ready": True,
        "cost": 5,
        "moves": False,
        "deleting": False,
    }


@pytest.mark.row("WC-34")
def test_explain_says_what_a_rollout_waits_for_and_changes_nothing(
    places: dict[str, str], world: ClaimSetWorld
) -> None:
    name = f"{world.namespace}/db"
    world.change_template(ownerName="ann")
    told = orjson.loads(berthmaster(places, "explain", "claimset", name, "--json").stdout)
    assert (told["next"]["do"], told["next"]["claims"], told["next"]["reason"]) == ("create", ["db-2"], "Surge")
    assert world.live() == {"db-0", "db-1"}
    world.run()
    text = berthmaster(places, "explain", "claimset", name).stdout
    assert "next: nothing: 3 of 3" not in text
    assert "next: nothing: 2 of 3 claims are old; waits for a ready pod of db-2" in text
    assert "surge: 1 more than wanted" in text
    assert "old" in text


@pytest.mark.row("WC-29")
def test_explain_says_that_claims_which_move_are_left_alone(places: dict[str, str], world: ClaimSetWorld) -> None:
    for claim in ("db-0", "db-1"):
        world.move(claim)
    world.scale(1)
    text = berthmaster(places, "explain", "claimset", f"{world.namespace}/db").stdout
    assert "2 move and are not removed meanwhile" in text
    assert "scaling in would take none" in text


def test_a_set_that_is_not_there_or_badly_named_is_said(places: dict[str, str], world: ClaimSetWorld) -> None:
    said = berthmaster(places, "explain", "claimset", f"{world.namespace}/x")
    assert (said.exit_code, "there is no PodClaimSet" in said.stderr) == (1, True)
    said = berthmaster(places, "explain", "claimset", "x")
    assert (said.exit_code, said.stderr) == (2, "name the set as NAMESPACE/SET\n")
