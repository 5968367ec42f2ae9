"""Rollouts replace claims one by one, on both Kubernetes servers."""

from __future__ import annotations

import pytest

from domain.outcome import Settled
from tests.integration.claim_sets.conftest import MakeSet


@pytest.mark.row("WC-34")
def test_a_new_template_replaces_every_claim_with_one_more_than_wanted_at_most(make_set: MakeSet) -> None:
    world = make_set(3)
    world.settle()
    before, served = world.templates(), []
    world.change_template(ownerName="ann")
    for _ in range(20):
        ended = world.run()
        world.most = max(world.most, len(world.live()))
        served.append(world.status["readyReplicas"])
        for claim in world.claims():
            if not claim["spec"].get("podName"):
                world.bind(claim["metadata"]["name"])
        if ended == Settled():
            break
    assert world.run() == Settled()
    assert len(world.live()) == 3
    assert not set(world.templates().values()) & set(before.values())
    assert all(claim["spec"]["ownerName"] == "ann" for claim in world.claims())
    assert world.most == 4
    assert min(served) == 3
    assert (world.status["updatedReplicas"], world.condition("Updated")) == (3, ("True", "Current"))


@pytest.mark.row("WC-34")
def test_an_outdated_claim_stays_outdated_until_another_serves_in_its_place(make_set: MakeSet) -> None:
    world = make_set(2)
    world.settle()
    for name in ("db-0", "db-1"):
        world.set_phase(name, "Outdated")
    for _ in range(3):
        world.run()
    assert world.live() == {"db-0", "db-1", "db-2"}
    assert {world.claim(name)["status"]["phase"] for name in ("db-0", "db-1")} == {"Outdated"}
    assert world.message("Updated") == "2 of 3 claims are old; waits for a ready pod of db-2"
    assert (world.status["readyReplicas"], world.status["updatedReplicas"]) == (2, 0)
    world.bind("db-2", ready=False)
    world.run()
    assert world.live() == {"db-0", "db-1", "db-2"}
    world.ready("db-2", "True")
    world.settle()
    assert len(world.live()) == 2
    assert {claim["status"]["phase"] for claim in world.claims()} == {"Bound"}


@pytest.mark.row("WC-41")
def test_a_new_template_keeps_the_replicas_that_somebody_has_scaled_to(make_set: MakeSet) -> None:
    world = make_set(1)
    world.settle()
    world.scale(3)
    world.settle()
    world.change_template(ownerName="ann")
    for _ in range(3):
        world.settle()
        assert len(world.live()) >= 3
    assert world.object["spec"]["replicas"] == 3
    assert len(world.live()) == 3
    assert world.status["updatedReplicas"] == 3


@pytest.mark.row("WC-29", "WC-34")
def test_an_old_claim_that_moves_is_replaced_when_it_has_moved(make_set: MakeSet) -> None:
    world = make_set(1)
    world.settle()
    world.move("db-0")
    world.change_template(ownerName="ann")
    for _ in range(3):
        world.run()
    assert world.live() == {"db-0"}
    world.has_moved("db-0")
    world.settle()
    assert world.live() == {"db-1"}


@pytest.mark.row("WC-34", "WC-35")
def test_a_template_that_no_pod_fits_is_mended_by_the_next_one(make_set: MakeSet) -> None:
    """Claims without a pod make room: they hold nothing that must be kept."""
    world = make_set(2)
    world.run()
    world.change_template(poolName="hot")
    for _ in range(8):
        world.run()
    assert len(world.live()) == 2
    assert {claim["spec"]["poolName"] for claim in world.claims()} == {"hot"}
