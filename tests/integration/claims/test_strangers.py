"""A pod of no pool may carry any label: its author gains nothing, and takes nothing from others."""

from __future__ import annotations

from typing import Any

import pytest

from domain.kubernetes.names import CLAIMED_BY, PHASE, POOL, REVISION
from tests.support.claims.claim_world import IMAGE, READY, ClaimWorld


def stranger(world: ClaimWorld, **labels: str) -> dict[str, Any]:
    """Made by hand, and dressed as an idle pod of the pool."""
    own_labels = {POOL: "warm", REVISION: world.revision, PHASE: "Idle", **labels}
    world.api.create(world.pods_path(), {"metadata": {"name": "stranger", "labels": own_labels}, "spec": IMAGE})
    return world.status("stranger", READY)


@pytest.mark.row("WC-08")
def test_a_pod_in_the_dress_of_a_pool_is_no_candidate(world: ClaimWorld) -> None:
    before = stranger(world)["metadata"]["resourceVersion"]
    assert world.bound() == ""
    world.pod("p1")
    world.run()
    assert world.pod_of() == "p1"
    assert world.get("stranger")["metadata"]["resourceVersion"] == before


@pytest.mark.parametrize("phase", ["Idle", "Bound", "Draining"])
@pytest.mark.parametrize("lost", [False, True])
def test_a_pod_that_says_that_a_claim_has_it_is_not_its_pod(world: ClaimWorld, phase: str, lost: bool) -> None:
    uid = world.claim()["metadata"]["uid"]
    stranger(world, **{CLAIMED_BY: uid, PHASE: phase})
    if lost:
        world.services.index.forget(world.namespace, uid)
    world.pod("p1")
    for _ in range(3):
        world.run()
    assert world.pod_of() == "p1"
    assert world.labels("stranger")[PHASE] == phase


def test_a_claim_that_names_a_pod_of_no_pool_does_not_get_it(world: ClaimWorld) -> None:
    before = stranger(world)["metadata"]["resourceVersion"]
    world.claim(podName="stranger")
    world.run()
    assert world.phase() != "Bound"
    assert world.get("stranger")["metadata"]["resourceVersion"] == before
