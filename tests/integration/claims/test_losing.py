"""A claim whose pod is gone, unusable or another claim's."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from domain.kubernetes.names import CLAIM_FINALIZER, CLAIMED_BY
from domain.kubernetes.objects import KubeObject, Pod
from domain.outcome import Settled, Wait
from events.kube.api import Unavailable
from events.protocol.claim_index import concerned
from tests.support.claims.claim_world import ClaimWorld
from tests.support.faults.interposed_kube import InterposedKube


@pytest.mark.row("WC-15", "WC-16", "WC-48")
def test_a_missing_pod_is_lost_after_the_grace_and_not_before(world: ClaimWorld) -> None:
    world.pod("p1")
    world.bound(whenLost="Stay")
    world.end("p1")
    assert world.run() == Wait(timedelta(seconds=10), "pod p1 is missing")
    world.later(timedelta(seconds=9))
    assert isinstance(world.run(), Wait)
    assert (world.phase(), world.pod_of()) == ("Bound", "p1")
    world.later(timedelta(seconds=1))
    assert world.run() == Settled()
    spec = world.read()["spec"]
    assert world.phase() == "Lost"
    assert "podName" not in spec
    assert not spec.get("nodeName")


@pytest.mark.row("WC-16")
def test_a_claim_that_stays_lost_takes_no_other_pod(world: ClaimWorld) -> None:
    world.pod("p1")
    world.bound(whenLost="Stay")
    world.end("p1")
    world.pod("p2")
    world.run()
    world.later(timedelta(seconds=10))
    world.run()
    world.run()
    assert (world.phase(), world.holder("p2")) == ("Lost", "Idle")
    assert world.condition("Bound")["reason"] == "PodLost"


@pytest.mark.row("WC-17", "WC-16")
def test_a_claim_whose_pod_was_deleted_gets_another(world: ClaimWorld) -> None:
    world.pod("p1")
    world.bound()
    world.end("p1")
    world.run()
    world.later(timedelta(seconds=10))
    world.run()
    assert (world.phase(), world.pod_of()) == ("Lost", "")
    world.pod("p2")
    world.run()
    assert (world.phase(), world.pod_of()) == ("Bound", "p2")


@pytest.mark.row("WC-15", "WC-16")
@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Failed"},
        {"phase": "Succeeded"},
        {"phase": "Running", "reason": "NodeLost"},
        {"phase": "Running", "conditions": [{"type": "Ready", "status": "Unknown"}]},
    ],
)
def test_a_pod_of_no_use_is_given_away_for_good_and_the_claim_gets_another(
    world: ClaimWorld, status: dict[str, object]
) -> None:
    """Rule lost: the label comes off before the name does."""
    world.pod("p1")
    world.bound(ownerName="alice")
    world.status("p1", status)
    world.pod("p2")
    world.run()
    assert world.pod_of() == "p2"
    assert (world.holder("p1"), world.last_owner("p1")) == ("Terminating", "alice")
    assert world.views() == {"p1": "claimed", "p2": "claimed"}


@pytest.mark.row("WC-18")
def test_a_pod_that_lost_its_label_before_it_was_deleted_still_wakes_its_claim(world: ClaimWorld) -> None:
    world.pod("p1")
    world.bound()
    world.label("p1", CLAIMED_BY, None)
    assert concerned(world.redis, [Pod(world.get("p1"))]) == {f"podclaim/{world.namespace}/a"}
    world.end("p1")
    world.later(timedelta(seconds=20))
    world.run()
    world.later(timedelta(seconds=20))
    world.run()
    assert world.phase() == "Lost"


@pytest.mark.row("WC-13")
def test_a_claim_never_writes_over_the_label_of_another(world: ClaimWorld) -> None:
    """Rule own: it names a pod that is another's by now."""
    world.pod("p1")
    world.bound("a")
    world.label("p1", CLAIMED_BY, "another")
    world.run()
    assert world.pod_of() == ""
    assert world.labels("p1")[CLAIMED_BY] == "another"


@pytest.mark.row("WC-13")
def test_a_name_that_a_person_wrote_is_not_believed(world: ClaimWorld) -> None:
    world.pod("p1")
    world.claim(podName="p1")
    world.run()
    assert world.holder("p1") == "Bound a", "it took that pod, as it would take any that is free"
    world.claim("b", podName="p1")
    world.run("b")
    assert (world.pod_of("b"), world.phase("b"), world.holder("p1")) == ("", "Pending", "Bound a")


def broken(_: str) -> None:
    raise Unavailable(500, "InternalError", "etcd is away")


@pytest.mark.row("WC-14")
@pytest.mark.parametrize("part", ["/podclaims/", "/pods/"])
def test_an_error_of_the_api_writes_nothing_and_is_tried_again(world: ClaimWorld, part: str) -> None:
    world.pod("p1")
    world.bound()
    world.end("p1")
    world.later(timedelta(hours=1))
    before = world.read()
    ended = world.run(services=world.on(InterposedKube(world.api, "GET", part, broken, times=100)))
    assert isinstance(ended, Wait)
    assert world.read() == before
    assert world.run() == Wait(timedelta(seconds=10), "pod p1 is missing")


@pytest.mark.row("WC-06")
def test_a_claim_that_has_its_label_on_a_pod_adopts_that_one_after_any_loss_of_redis(world: ClaimWorld) -> None:
    """The label is there, the name is not, and Redis knows of nothing."""
    claim = world.services.claims.set_finalizers(KubeObject(world.claim()), [CLAIM_FINALIZER])
    labels: dict[str, Any] = {CLAIMED_BY: claim.uid, "berthmaster.dev/phase": "Bound"}
    world.pod("p1", **labels)
    world.pod("p2")
    world.run()
    assert (world.pod_of(), world.holder("p1"), world.holder("p2")) == ("p1", "Bound a", "Idle")
