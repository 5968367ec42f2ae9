"""The metrics of claims agree with their statuses."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.claims.claim_world import ClaimWorld
from tests.support.scrapes import idle_worker


@pytest.mark.row("EV-15")
def test_the_gauge_of_claims_is_a_recount(world: ClaimWorld, redis_url: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        world.pod(name)
    for name in ("a", "b", "c", "d"):
        world.claim(name)
        world.run(name)
    world.delete("d")
    world.run("d")
    assert world.gone("d")
    phases = Counter(claim.status["phase"] for claim in world.claims())
    assert phases == {"Bound": 2, "Pending": 1}
    with idle_worker(redis_url, tmp_path) as worker:
        assert worker.states("berthmaster_claims", namespace=world.namespace) == phases
