"""A claim moves from one pod to another: target first, then the source, and back where the target cannot be had."""

from __future__ import annotations

import pytest

from domain.kubernetes.names import CLAIMED_BY, CORDON, PHASE
from domain.outcome import Settled, Wait
from tests.support.claims.claim_meanwhile import standing_still
from tests.support.claims.claim_world import ClaimWorld


def on_one_of_two(world: ClaimWorld, **spec: str) -> None:
    """Claim a is on p1, and p2 is free."""
    world.pod("p1")
    world.bound(**spec)
    world.pod("p2")


@pytest.mark.row("WC-27")
def test_a_claim_that_moves_takes_the_target_and_then_lets_the_source_drain(world: ClaimWorld) -> None:
    on_one_of_two(world, ownerName="alice")
    world.move("p2")
    assert isinstance(world.run(), Wait)
    assert (world.holder("p1"), world.holder("p2")) == ("Draining", "Bound a")
    status = world.read()["status"]
    assert status["migration"] == {"source": "p1", "target": "p2", "progress": "SourceDraining"}
    assert status["phase"] == "Bound"
    assert world.condition("Moved")["reason"] == "SourceDraining"


@pytest.mark.row("WC-27")
@pytest.mark.parametrize("source", ["Idle", "Terminating", "gone", "another's"])
def test_a_move_is_complete_when_the_source_is_not_its_own_and_does_not_drain(world: ClaimWorld, source: str) -> None:
    """Rule mine."""
    on_one_of_two(world)
    world.move("p2")
    world.run()
    if source == "gone":
        world.end("p1")
    elif source == "another's":
        world.drained("p1")
        world.bound("b")
        assert world.pod_of("b") == ""
        world.label("p1", CLAIMED_BY, "another")
        world.label("p1", PHASE, "Bound")
    else:
        world.label("p1", PHASE, source)
    assert world.run() == Settled()
    claim = world.read()
    assert (claim["spec"]["podName"], "sourcePod" in claim["spec"]) == ("p2", False)
    assert "migration" not in claim["status"]
    assert world.condition("Moved")["status"] == "True"
    world.run()
    assert world.condition("Moved")["message"] == "from p1 to p2"


@pytest.mark.row("WC-28")
@pytest.mark.parametrize("why", ["busy", "draining", "not ready", "cordoned", "missing", "other pool", "outdated"])
def test_a_target_that_cannot_be_had_is_refused_at_once(world: ClaimWorld, why: str) -> None:
    """Rule back."""
    on_one_of_two(world)
    if why == "busy":
        world.bound("b")
    elif why == "draining":
        world.label("p2", PHASE, "Draining")
    elif why == "not ready":
        world.status("p2", {"conditions": [{"type": "Ready", "status": "False"}]})
    elif why == "cordoned":
        world.annotate("p2", CORDON, "true")
    elif why == "missing":
        world.end("p2")
    elif why == "other pool":
        world.pool("cold")
        world.label("p2", "berthmaster.dev/pool", "cold")
    else:
        world.label("p2", "berthmaster.dev/revision", "r0")
    world.move("p2")
    before = world.labels("p2") if why != "missing" else {}
    assert world.run() == Settled()
    claim = world.read()
    assert (claim["spec"]["podName"], "sourcePod" in claim["spec"], world.phase()) == ("p1", False, "Bound")
    assert world.holder("p1") == "Bound a"
    assert world.condition("Moved")["reason"] == "TargetRefused"
    assert why == "missing" or world.labels("p2") == before


@pytest.mark.row("WC-28")
def test_a_target_that_somebody_else_has_taken_in_the_ledger_is_refused(world: ClaimWorld) -> None:
    """It still looks free in Kubernetes."""
    on_one_of_two(world)
    assert world.slots["warm"].ledger.claim(world.get("p2")["metadata"]["uid"], "another") is None
    world.move("p2")
    world.run()
    assert world.pod_of() == "p1"
    assert "somebody else has taken it" in world.condition("Moved")["message"]


@pytest.mark.row("WC-28")
def test_of_two_claims_that_move_to_one_pod_one_does(world: ClaimWorld) -> None:
    for n, name in enumerate(("a", "b")):
        world.pod(f"p{n}")
        world.bound(name)
    world.pod("target")
    for name in ("a", "b"):
        world.move("target", name)
    for name in ("a", "b"):
        world.run(name)
    assert world.holder("target") == "Bound a"
    assert (world.pod_of("a"), world.pod_of("b"), world.holder("p1")) == ("target", "p1", "Bound b")


@pytest.mark.row("WC-28")
def test_two_claims_that_change_places_both_stay(world: ClaimWorld) -> None:
    for n, name in enumerate(("a", "b")):
        world.pod(f"p{n}")
        world.bound(name)
    world.move("p1", "a")
    world.move("p0", "b")
    for name in ("a", "b", "a"):
        world.run(name)
    assert (world.pod_of("a"), world.pod_of("b")) == ("p0", "p1")


@pytest.mark.row("WC-19")
@pytest.mark.parametrize("steps", ["asked", "half way", "draining"])
def test_a_claim_that_is_deleted_while_it_moves_gives_both_pods_back(world: ClaimWorld, steps: str) -> None:
    on_one_of_two(world)
    world.move("p2")
    if steps == "half way":
        world.label("p2", CLAIMED_BY, world.read()["metadata"]["uid"])
        world.label("p2", PHASE, "Bound")
    elif steps == "draining":
        world.run()
    world.delete()
    world.run()
    assert world.gone()
    assert world.holder("p1") == "Draining"
    assert world.holder("p2") == ("Idle" if steps == "asked" else "Draining")


@pytest.mark.row("WC-19")
def test_a_set_of_claims_that_all_move_or_stay_ends(world: ClaimWorld) -> None:
    """All migrating, and mixed: each ends whatever the others do."""
    for n, name in enumerate(("a", "b", "c")):
        world.pod(f"p{n}")
        world.bound(name)
    for n, name in enumerate(("a", "b")):
        world.pod(f"t{n}")
        world.move(f"t{n}", name)
        world.run(name)
    for name in ("a", "b", "c"):
        world.delete(name)
    for name in ("a", "b", "c"):
        world.run(name)
    assert all(world.gone(name) for name in ("a", "b", "c"))
    assert {world.holder(pod["metadata"]["name"]) for pod in world.pods()} == {"Draining"}


def test_a_target_that_is_lost_after_the_source_was_given_back_leaves_it_lost(world: ClaimWorld) -> None:
    on_one_of_two(world, whenLost="Stay")
    world.move("p2")
    world.run()
    world.end("p2")
    world.run()
    assert (world.phase(), world.pod_of(), world.holder("p1")) == ("Lost", "", "Draining")


@pytest.mark.row("WC-27")
def test_a_move_that_a_person_gives_up_in_time_changes_nothing(world: ClaimWorld) -> None:
    on_one_of_two(world)
    world.move("p2")
    world.spec(podName="p1", sourcePod=None)
    world.run()
    assert (world.pod_of(), world.phase(), world.holder("p1"), world.holder("p2")) == ("p1", "Bound", "Bound a", "Idle")


@pytest.mark.row("WC-27")
def test_a_move_that_a_person_gives_up_too_late_ends_on_one_pod(world: ClaimWorld) -> None:
    """The run was about to give the source back."""
    on_one_of_two(world)
    world.move("p2")
    standing_still(world, "PATCH", "/pods/p1", lambda: world.spec(podName="p1", sourcePod=None))
    world.run()
    assert (world.pod_of(), world.phase(), world.holder("p1"), world.holder("p2")) == (
        "p2",
        "Bound",
        "Draining",
        "Bound a",
    )
