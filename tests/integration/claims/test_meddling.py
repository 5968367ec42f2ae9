"""What people write on a claim or its pod is repaired or left alone, and never trusted."""

from __future__ import annotations

from datetime import datetime

import pytest

from domain.kubernetes.names import BOUND_AT, CLAIMED_BY, PHASE, POOL
from tests.support.claims.claim_world import ClaimWorld
from workers.kube.pod_claims import claim_path


@pytest.mark.row("WC-01")
@pytest.mark.parametrize("text", ["soon", "", "2026-02-30T10:00:00+00:00", "2026-02-03T10:00:00", "1" * 5000])
def test_only_a_time_is_shown_as_the_time_since_when_a_claim_has_its_pod(world: ClaimWorld, text: str) -> None:
    world.pod("p1")
    world.bound()
    path = claim_path(world.namespace, "a")
    world.api.patch(path, {"metadata": {"annotations": {BOUND_AT: text}}})
    world.run()
    assert "boundTime" not in world.read()["status"]
    assert world.phase() == "Bound"
    world.api.patch(path, {"metadata": {"annotations": {BOUND_AT: "2026-02-03T12:00:00.5+02:00"}}})
    world.run()
    shown = world.read()["status"]["boundTime"]
    assert datetime.fromisoformat(shown) == datetime.fromisoformat("2026-02-03T10:00:00+00:00")


@pytest.mark.row("WC-12", "WC-13")
@pytest.mark.parametrize("label", [None, "cold"])
def test_a_bound_pod_without_the_label_of_its_pool_stays_its_claim_s_and_gets_it_back(
    world: ClaimWorld, label: str | None
) -> None:
    world.pool("cold")
    world.pod("p1")
    world.bound(ownerName="alice")
    world.pod("p2")
    world.label("p1", POOL, label)
    world.run()
    assert (world.pod_of(), world.holder("p1"), world.holder("p2")) == ("p1", "Bound a", "Idle")
    assert world.labels("p1")[POOL] == "warm"


@pytest.mark.row("WC-21")
def test_a_pod_that_is_given_back_gets_the_label_of_its_pool_back(world: ClaimWorld) -> None:
    world.pod("p1")
    world.bound()
    world.label("p1", POOL, None)
    world.delete()
    world.run()
    assert world.gone()
    assert (world.holder("p1"), world.labels("p1")[POOL]) == ("Draining", "warm")


@pytest.mark.row("WC-08", "WC-13")
def test_a_free_pod_without_the_label_of_its_pool_is_nobody_s_until_its_pool_has_seen_it(world: ClaimWorld) -> None:
    world.pod("p1")
    world.label("p1", POOL, None)  # the claims' index does not know yet
    assert world.bound() == ""
    world.claim("b", podName="p1")
    world.run("b")
    assert world.pod_of("b") == ""
    assert world.labels("p1")[PHASE] == "Idle"
    assert CLAIMED_BY not in world.labels("p1")
