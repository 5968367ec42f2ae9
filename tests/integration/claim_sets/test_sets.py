"""What a claim set does and shows, on both Kubernetes servers."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from domain.kubernetes.names import CLAIM_SET
from domain.kubernetes.objects import Pod
from domain.outcome import Settled, Wait
from events.kube.api import KubeApi
from events.protocol.claim_index import concerned
from tests.fixtures.kube import Kubectl
from tests.integration.claim_sets.conftest import MakeSet
from tests.support.faults.interposed_kube import InterposedKube
from tests.support.waiting import eventually
from workers.stores.claims.set_names import ClaimSetNames


def test_a_set_makes_its_claims_from_its_template(make_set: MakeSet) -> None:
    world = make_set(2)
    world.run()
    assert world.live() == {"db-0", "db-1"}
    claim = world.claim("db-0")
    assert claim["spec"]["poolName"] == "warm"
    assert claim["metadata"]["labels"]["app"] == "db"
    assert claim["metadata"]["labels"][CLAIM_SET] == world.uid
    (owner,) = claim["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("PodClaimSet", world.uid, True)


@pytest.mark.row("WC-32")
def test_the_status_counts_claims_and_ready_pods_and_names_the_selector(make_set: MakeSet) -> None:
    world = make_set(2)
    assert isinstance(world.run(), Wait)
    assert (world.status["replicas"], world.status["readyReplicas"]) == (2, 0)
    assert world.status["labelSelector"] == "app=db"
    assert world.condition("Ready") == ("False", "Waiting")
    world.bind("db-0")
    world.bind("db-1", ready=False)
    world.run()
    counts = [world.status[key] for key in ("replicas", "readyReplicas", "updatedReplicas")]
    assert counts == [2, 1, 2]
    assert world.message("Ready") == "1 of 2 claims have no ready pod"
    world.ready("db-1", "True")
    assert world.run() == Settled()
    assert world.status["readyReplicas"] == 2
    assert [world.condition(kind)[0] for kind in ("Valid", "Ready", "Updated")] == ["True", "True", "True"]
    assert world.status["observedGeneration"] == world.object["metadata"]["generation"]


def test_a_set_that_is_as_it_should_be_is_not_written(make_set: MakeSet) -> None:
    world = make_set(1)
    world.settle()

    def unasked(path: str) -> None:
        raise AssertionError(f"a write: {path}")

    world.through(InterposedKube(world.api, "PATCH", "", unasked))
    assert world.run() == Settled()


@pytest.mark.row("WC-42", "WC-32")
def test_claims_and_pods_that_are_being_deleted_are_not_counted(make_set: MakeSet) -> None:
    world = make_set(2)
    world.settle()
    world.keep("db-1")
    world.scale(1)
    world.run()
    assert {claim["metadata"]["name"] for claim in world.claims()} == {"db-0", "db-1"}
    assert (world.status["replicas"], world.status["readyReplicas"]) == (1, 1)
    world.scale(2)
    world.run()
    assert world.live() == {"db-0", "db-2"}
    world.bind("db-2")
    pod = world.path("pods", world.pods["db-2"])
    world.api.patch(pod, {"metadata": {"finalizers": ["test.berthmaster.dev/stay"]}})
    world.api.delete(pod)
    world.run()
    assert (world.status["replicas"], world.status["readyReplicas"]) == (2, 1)
    world.api.patch(pod, {"metadata": {"finalizers": None}})
    world.let_go("db-1")


@pytest.mark.row("WC-32")
def test_kubectl_scales_a_set_and_shows_what_it_has(make_set: MakeSet, kubectl: Kubectl) -> None:
    world = make_set(1)
    world.settle()
    kubectl("scale", "podclaimset/db", "--replicas=3")
    world.settle()
    assert world.live() == {"db-0", "db-1", "db-2"}
    lines = [line.split() for line in kubectl("get", "podclaimset", "db").splitlines()]
    assert lines[0][:5] == ["NAME", "DESIRED", "CLAIMS", "READY", "UPDATED"]
    assert lines[1][:5] == ["db", "3", "3", "3", "3"]
    scale = json.loads(kubectl("get", "--raw", f"{world.path('podclaimsets', 'db')}/scale"))
    assert scale["status"] == {"replicas": 3, "selector": "app=db"}
    kubectl("scale", "podclaimset/db", "--current-replicas=3", "--replicas=1")
    world.settle()
    assert world.live() == {"db-0"}


@pytest.mark.row("WC-30")
def test_scale_in_follows_the_order_to_the_end(make_set: MakeSet) -> None:
    world = make_set(6)
    world.run()
    for name, cost in (("db-1", 0), ("db-2", -5), ("db-3", 7), ("db-4", 0)):
        world.bind(name, cost=cost)
    world.bind("db-5", ready=False)
    gone = []
    for wanted in range(5, -1, -1):
        before = world.live()
        world.scale(wanted)
        world.run()
        (removed,) = before - world.live()
        gone.append(removed)
    assert gone == ["db-0", "db-5", "db-2", "db-4", "db-1", "db-3"]


@pytest.mark.row("WC-30")
@pytest.mark.parametrize("phase", ["Lost", "Outdated"])
def test_a_claim_that_is_no_longer_bound_goes_before_those_that_are(make_set: MakeSet, phase: str) -> None:
    world = make_set(3)
    world.settle()
    world.set_phase("db-0", phase)
    world.scale(2)
    world.run()
    assert world.live() == {"db-1", "db-2"}


@pytest.mark.row("WC-35")
def test_surplus_claims_that_wait_for_a_pod_are_removed(make_set: MakeSet) -> None:
    world = make_set(3)
    world.run()
    world.bind("db-0")
    world.scale(1)
    world.run()
    assert world.live() == {"db-0"}
    assert not world.status["removing"]


@pytest.mark.row("WC-29")
def test_a_claim_that_moves_is_counted_and_not_removed_until_it_has_moved(make_set: MakeSet) -> None:
    world = make_set(2)
    world.settle()
    for name in ("db-0", "db-1"):
        world.move(name)
    world.scale(1)
    assert isinstance(world.run(), Wait)
    assert world.live() == {"db-0", "db-1"}
    assert world.status["replicas"] == 2
    assert world.condition("Ready") == ("False", "TooMany")
    assert "2 move" in world.message("Ready")
    world.has_moved("db-0")
    world.run()
    assert world.live() == {"db-1"}


@pytest.mark.row("WC-31")
def test_the_cost_of_a_deletion_is_read_at_the_last_moment(make_set: MakeSet) -> None:
    """It is written after the set's runs began, and no event of it was seen."""
    world = make_set(2)
    world.settle()
    world.set_cost("db-1", 100)
    world.scale(1)
    world.run()
    assert world.live() == {"db-1"}


@pytest.mark.row("WC-31")
def test_a_pod_that_becomes_busy_after_its_claim_was_recorded_keeps_it(make_set: MakeSet) -> None:
    world = make_set(2)
    world.settle()
    world.scale(1)

    def busy_once_recorded() -> None:
        for entry in world.status.get("removing") or ():
            world.set_cost(entry.partition("@")[0], 100)

    world.standing_still("GET", "/pods", busy_once_recorded, times=2)
    assert world.live() == {"db-1"}


class Older(KubeApi):
    """Lets a spec through that ours would refuse, as an older definition of the resource may."""

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        claim_set = super().get(path, **query)
        if path.endswith("/podclaimsets/db"):
            claim_set["spec"]["replicas"] = -1
        return claim_set


def test_a_spec_that_no_worker_can_use_is_told_and_the_claims_stay(make_set: MakeSet) -> None:
    world = make_set(1)
    world.settle()
    world.through(Older(world.api.connection, world.api.timeout, world.api.agent))
    assert world.run() == Settled()
    assert world.condition("Valid") == ("False", "Invalid")
    assert "spec.replicas" in world.message("Valid")
    assert world.live() == {"db-0"}


@pytest.mark.row("WC-32")
def test_a_change_of_a_claims_pod_wakes_the_set(make_set: MakeSet) -> None:
    """Its claim may see no reason to be written for it: the pod is not ready any more."""
    world = make_set(1)
    world.settle()
    pod = world.api.get(world.path("pods", world.pods["db-0"]))
    assert concerned(world.redis, [Pod(pod)]) == {world.key}
    ClaimSetNames(world.redis).drop(world.namespace, world.uid)
    assert concerned(world.redis, [Pod(pod)]) == set()


def test_a_name_that_somebody_else_has_is_left_out(make_set: MakeSet) -> None:
    world = make_set(2)
    body = {"apiVersion": "berthmaster.dev/v1alpha1", "kind": "PodClaim", "metadata": {"name": "db-0"}}
    world.api.create(world.path("podclaims"), body | {"spec": {"poolName": "warm"}})
    world.run()
    assert world.live() == {"db-0", "db-1", "db-2"}
    assert world.status["replicas"] == 2


def test_a_large_set_comes_and_goes_step_by_step(make_set: MakeSet) -> None:
    world = make_set(70)
    world.run()
    assert len(world.live()) == 70
    assert world.status["replicas"] == 70
    world.scale(3)
    world.run()
    assert world.live() == {"db-0", "db-1", "db-2"}
    assert world.run() == Wait(timedelta(seconds=30), "3 of 3 claims have no ready pod")


def test_a_set_whose_look_takes_long_is_not_looked_at_all_the_time(make_set: MakeSet) -> None:
    """While its claims find pods, each of them wakes it."""
    world = make_set(1)
    pace = world.services.pace
    pace.looked(world.namespace, "db", timedelta(milliseconds=20))
    assert pace.too_soon(world.namespace, "db") == timedelta(0)
    pace.looked(world.namespace, "db", timedelta(milliseconds=500))
    ended = world.run()
    assert isinstance(ended, Wait)
    assert timedelta(0) < ended.for_ <= timedelta(seconds=2)
    assert not world.live()
    eventually(lambda: isinstance(world.run(), Wait) and world.live())
    pace.looked(world.namespace, "db", timedelta(minutes=1))
    assert pace.too_soon(world.namespace, "db") <= timedelta(seconds=10)
