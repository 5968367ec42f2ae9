"""What people write on a claim or on its pod: it is mended or left, and never believed, on both Kubernetes servers."""

from __future__ import annotations

from datetime import datetime

import pytest

from domain.claims.labels import BOUND_AT
from tests.support.claim_world import ClaimWorld
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
