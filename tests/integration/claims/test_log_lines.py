"""Each transition of a claim is one line of the log."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from tests.support.claims.claim_world import ClaimWorld
from tests.support.log_lines import told


@pytest.mark.row("EV-17")
def test_a_claim_that_is_bound_and_given_back_says_so_once_each(world: ClaimWorld) -> None:
    world.pod("one")
    with capture_logs() as lines:
        assert world.bound() == "one"
        world.run()
        world.delete()
        world.run()
        assert world.gone()
    about = {"namespace": world.namespace}
    assert len(told(lines, "pod_taken", claim="a", pod="one", **about)) == 1
    assert len(told(lines, "claim_changed", claim="a", reason="PodBound", **about)) == 1
    assert len(told(lines, "pod_given_back", pod="one", **about)) == 1


@pytest.mark.row("EV-17")
def test_a_claim_that_loses_its_pod_says_so_once(world: ClaimWorld) -> None:
    world.pod("one")
    world.bound()
    with capture_logs() as lines:
        world.status("one", {"phase": "Failed"})
        for _ in range(3):
            world.run()
    assert len(told(lines, "claim_changed", claim="a", reason="PodLost", namespace=world.namespace)) == 1
