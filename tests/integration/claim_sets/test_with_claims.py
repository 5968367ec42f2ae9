"""Claim sets and the real runs of their claims together, on both Kubernetes servers."""

from __future__ import annotations

from datetime import timedelta

import pytest
from redis import Redis

from domain.kubernetes.names import CLAIM_SET, PHASE
from events.kube.api import Denied
from tests.fixtures.kube import Kube
from tests.support.claims.claim_set_world import ClaimSetWorld
from tests.support.claims.claim_world import READY, ClaimWorld
from tests.support.faults.interposed_kube import InterposedKube
from tests.support.waiting import eventually


class Fleet:
    """A set of claims, and pool `warm` with idle pods; the test is the pool."""

    def __init__(self, redis: Redis, kube: Kube, replicas: int, pods: int) -> None:
        self.sets = ClaimSetWorld(redis, kube.api, kube.namespace, replicas)
        self.world = ClaimWorld(redis, kube.api, kube.namespace)
        self.world.pool()
        for number in range(pods):
            self.world.pod(f"p{number}")
        self.ready = list[int]()

    def claims(self) -> None:
        """One run of each."""
        for claim in self.sets.claims():
            self.world.run(claim["metadata"]["name"])

    def go_on(self, rounds: int = 8) -> None:
        """Sets, claims and the pool take turns; what drains has drained."""
        for _ in range(rounds):
            self.sets.run()
            self.sets.most = max(self.sets.most, len(self.sets.live()))
            self.claims()
            self.ready.append(sum(self.serves(pod["metadata"]["name"]) for pod in self.world.pods()))
            for pod in self.world.pods():
                if pod["metadata"]["labels"][PHASE] == "Draining":
                    self.world.drained(pod["metadata"]["name"])
        self.sets.run()

    def serves(self, pod: str) -> bool:
        return self.world.labels(pod)[PHASE] == "Bound"

    def holders(self) -> dict[str, str]:
        """Claim -> its pod."""
        return {c["metadata"]["name"]: c["spec"].get("podName", "") for c in self.sets.claims()}

    def phases(self) -> dict[str, str]:
        return {c["metadata"]["name"]: c["status"]["phase"] for c in self.sets.claims()}

    def renew(self, pods: int) -> None:
        """The pool has another template, and as many idle pods of it."""
        self.world.revision = "r2"
        for number in range(pods):
            self.world.pod(f"new{number}")
        self.world.offer()


@pytest.fixture
def fleet(redis: Redis, kube: Kube, crds: None) -> Fleet:
    """Two claims with a pod each, of four."""
    created = Fleet(redis, kube, 2, 4)
    created.go_on()
    assert sorted(created.holders().values()) == ["p0", "p1"]
    return created


@pytest.mark.row("WC-32")
def test_the_claims_of_a_set_find_warm_pods_of_their_own(fleet: Fleet) -> None:
    counts = [fleet.sets.status[key] for key in ("replicas", "readyReplicas", "updatedReplicas")]
    assert counts == [2, 2, 2]
    assert fleet.world.labels("p0")[CLAIM_SET] == fleet.sets.uid
    fleet.world.status("p0", READY | {"conditions": [{"type": "Ready", "status": "False"}]})
    fleet.sets.run()
    assert fleet.sets.status["readyReplicas"] == 1


@pytest.mark.row("WC-34")
def test_outdated_claims_are_replaced_one_by_one_and_never_made_bound_again(fleet: Fleet) -> None:
    before = fleet.holders()
    fleet.renew(pods=3)
    fleet.claims()
    assert set(fleet.phases().values()) == {"Outdated"}
    fleet.sets.run()
    fleet.claims()
    fleet.claims()
    assert fleet.phases() == {"db-0": "Outdated", "db-1": "Outdated", "db-2": "Bound"}
    fleet.ready.clear()
    fleet.go_on()
    assert set(fleet.phases().values()) == {"Bound"}
    assert len(fleet.phases()) == 2
    assert not set(fleet.holders().values()) & set(before.values())
    assert (fleet.sets.most, min(fleet.ready)) == (3, 2)


@pytest.mark.row("WC-34")
def test_without_a_pod_of_the_new_template_nothing_is_taken_away(fleet: Fleet) -> None:
    fleet.renew(pods=0)
    fleet.claims()
    fleet.go_on(4)
    assert fleet.phases() == {"db-0": "Outdated", "db-1": "Outdated", "db-2": "Pending"}
    assert fleet.sets.status["readyReplicas"] == 2
    fleet.world.pod("new0")
    fleet.world.offer()
    fleet.go_on()
    assert fleet.sets.status["readyReplicas"] == 2
    assert "Bound" in fleet.phases().values()


@pytest.mark.row("WC-29")
def test_scale_in_in_the_middle_of_a_move_takes_the_other_claim(fleet: Fleet) -> None:
    """Field bug MO#591."""
    fleet.world.move("p2", "db-1")
    fleet.sets.scale(1)
    fleet.sets.run()
    assert fleet.sets.live() == {"db-1"}
    fleet.go_on()
    assert fleet.holders() == {"db-1": "p2"}
    assert fleet.world.holder("p2") == "Bound db-1"
    assert [fleet.world.holder(pod) for pod in ("p0", "p1")] == ["Idle", "Idle"]


@pytest.mark.row("WC-29")
def test_scale_in_waits_until_one_of_the_claims_has_moved(fleet: Fleet) -> None:
    """Field bug MO#591: every claim moves."""
    fleet.world.move("p2", "db-0")
    fleet.world.move("p3", "db-1")
    fleet.sets.scale(1)
    fleet.sets.run()
    assert len(fleet.sets.live()) == 2
    fleet.go_on()
    assert len(fleet.sets.live()) == 1
    (pod,) = fleet.holders().values()
    assert pod in ("p2", "p3")


@pytest.mark.row("WC-15", "WC-17")
def test_a_claim_whose_pod_was_killed_finds_another_and_is_counted_meanwhile(fleet: Fleet) -> None:
    """Field bug MO#591: Lost keeps no old pod."""
    (name,) = (claim for claim, pod in fleet.holders().items() if pod == "p0")
    fleet.world.end("p0")
    fleet.world.offer()
    fleet.world.run(name)
    fleet.world.later(timedelta(seconds=11))
    fleet.go_on()
    assert fleet.sets.live() == {"db-0", "db-1"}
    assert sorted(fleet.holders().values()) == ["p1", "p2"]
    assert fleet.sets.status["readyReplicas"] == 2


@pytest.mark.row("WC-19")
@pytest.mark.parametrize("moves", [False, True], ids=["at rest", "moving"])
def test_a_set_that_is_deleted_gives_every_pod_back(fleet: Fleet, moves: bool) -> None:
    if moves:
        fleet.world.move("p2", "db-0")
        fleet.world.run("db-0")
    fleet.world.api.delete(fleet.sets.path("podclaimsets", "db"), {"propagationPolicy": "Background"})
    eventually(lambda: not fleet.sets.live())

    def denied(_: str) -> None:
        raise Denied(403, "Forbidden", "not here")

    refusing = fleet.world.on(InterposedKube(fleet.world.api, "PATCH", "/pods/", denied, times=1000))
    for claim in fleet.sets.claims():
        fleet.world.run(claim["metadata"]["name"], refusing)
    assert fleet.sets.claims()  # none leaves its pod behind
    fleet.go_on()
    assert eventually(lambda: not fleet.sets.claims())
    assert {fleet.world.holder(f"p{n}") for n in range(4)} == {"Idle"}
