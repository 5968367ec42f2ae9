"""A deleted set always ends, and its claims with it, also after refusals."""

from __future__ import annotations

import pytest

from domain.outcome import Settled, Wait
from events.kube.api import Denied, NotFound, Unavailable
from tests.integration.claim_sets.conftest import MakeSet
from tests.support.claims.claim_set_world import ClaimSetWorld
from tests.support.faults.interposed_kube import InterposedKube
from tests.support.waiting import eventually


def denied(_: str) -> None:
    raise Denied(403, "Forbidden", "not here")


def gone(world: ClaimSetWorld) -> bool:
    try:
        world.api.get(world.path("podclaimsets", "db"))
    except NotFound:
        return True
    return False


def delete(world: ClaimSetWorld) -> None:
    world.api.delete(world.path("podclaimsets", "db"), {"propagationPolicy": "Background"})


@pytest.mark.row("WC-19")
@pytest.mark.parametrize("when", ["claims are bound", "claims move", "claims are gone", "claims are being deleted"])
def test_the_end_of_a_set_needs_no_run(make_set: MakeSet, when: str) -> None:
    world = make_set(2)
    world.settle()
    for name in world.live():
        if when == "claims move":
            world.move(name)
        if when == "claims are being deleted":
            world.keep(name)
        if when in ("claims are gone", "claims are being deleted"):
            world.api.delete(world.path("podclaims", name))
    world.through(InterposedKube(world.api, "PATCH", "", denied, times=1000))
    delete(world)
    assert eventually(lambda: gone(world))
    assert world.run() == Settled()
    eventually(lambda: not world.live())
    for claim in world.claims():
        world.let_go(claim["metadata"]["name"])
    assert eventually(lambda: not world.claims())


@pytest.mark.row("WC-19")
def test_claims_that_are_still_there_keep_no_set_that_is_deleted_before_them(make_set: MakeSet) -> None:
    """In the foreground, as some tools delete: a claim does not block its owner."""
    world = make_set(2)
    world.settle()
    for name in world.live():
        world.keep(name)
    world.api.delete(world.path("podclaimsets", "db"), {"propagationPolicy": "Foreground"})
    assert eventually(lambda: gone(world))
    assert eventually(lambda: not world.live())
    for claim in world.claims():
        world.let_go(claim["metadata"]["name"])
    assert eventually(lambda: not world.claims())


@pytest.mark.row("WC-19")
def test_a_set_that_is_kept_by_another_while_it_is_deleted_makes_and_removes_no_claim(make_set: MakeSet) -> None:
    world = make_set(2)
    world.settle()
    world.api.patch(world.path("podclaimsets", "db"), {"metadata": {"finalizers": ["test.berthmaster.dev/stay"]}})
    for wanted in (3, 1):
        world.scale(wanted)
        delete(world)
        assert world.run() == Settled()
        assert world.live() == {"db-0", "db-1"}
    world.api.patch(world.path("podclaimsets", "db"), {"metadata": {"finalizers": None}})
    assert eventually(lambda: gone(world) and not world.claims())


def test_claims_that_are_orphaned_on_purpose_stay_and_a_set_made_anew_leaves_them_alone(make_set: MakeSet) -> None:
    world = make_set(2)
    world.settle()
    for name in world.live():  # as an orphaning deletion would, which needs a collector
        world.api.patch(world.path("podclaims", name), {"metadata": {"ownerReferences": None}})
    delete(world)
    assert eventually(lambda: gone(world))
    world.run()
    assert world.live() == {"db-0", "db-1"}
    again = make_set(1)
    again.run()
    assert again.live() == {"db-0", "db-1", "db-2"}


@pytest.mark.row("WC-19")
def test_a_claim_that_a_late_run_makes_for_a_set_that_is_gone_goes_as_well(make_set: MakeSet) -> None:
    world = make_set(2)

    def others() -> None:
        delete(world)
        eventually(lambda: gone(world))

    world.standing_still("POST", "/podclaims", others)
    assert eventually(lambda: not world.claims())


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_refusal_is_told_and_tried_again(make_set: MakeSet, method: str) -> None:
    """For want of a right, by a quota or a webhook."""
    world = make_set(1)
    world.settle()
    world.scale(2 if method == "POST" else 0)
    whole = world.services
    world.through(InterposedKube(world.api, method, "/podclaims", denied, times=1000))
    assert isinstance(world.run(), Wait)
    assert world.condition("Ready") == ("False", "Refused")
    assert "not here" in world.message("Ready")
    assert len(world.live()) == 1
    assert len(world.status["removing"]) == (method == "DELETE")  # whoever else removes goes on with this one
    world.services = whole
    world.settle()
    assert len(world.live()) == (2 if method == "POST" else 0)
    assert world.condition("Ready")[0] == "True"


@pytest.mark.row("WC-33")
@pytest.mark.parametrize("part", ["/podclaimsets/db", "/podclaims", "/pods"])
def test_an_api_server_that_does_not_answer_costs_no_claim(make_set: MakeSet, part: str) -> None:
    world = make_set(2)
    world.settle()
    world.scale(1)
    whole = world.services

    def away(_: str) -> None:
        raise Unavailable(503, "ServiceUnavailable", "later")

    world.through(InterposedKube(world.api, "GET", part, away))
    assert isinstance(world.run(), Wait)
    assert len(world.live()) == 2
    world.services = whole
    world.run()
    assert len(world.live()) == 1


@pytest.mark.row("KU-15")
def test_a_set_whose_status_is_refused_has_one_event(make_set: MakeSet) -> None:
    world = make_set(1)
    world.through(InterposedKube(world.api, "PATCH", "/podclaimsets/", denied, times=1000))
    for _ in range(3):
        world.run()
    listed = world.api.list(f"/api/v1/namespaces/{world.namespace}/events")["items"]
    (event,) = [event for event in listed if event["reason"] == "WriteRefused"]
    assert event["involvedObject"]["name"] == "db"
    assert event["message"].startswith("Kubernetes refuses to patch podclaimsets/status db: ")
