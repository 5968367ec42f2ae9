"""A deleted claim gives back its own pods and no others, and always ends."""

from __future__ import annotations

import pytest

from domain.kubernetes.names import ADDED_LABELS, CLAIM_FINALIZER, CLAIMED_BY
from domain.kubernetes.objects import KubeObject
from domain.outcome import Settled, Wait
from events.kube.api import Conflict, Invalid
from tests.support.claims.claim_world import ClaimWorld
from tests.support.faults.interposed_kube import InterposedKube
from workers.claims.observe import request_of


@pytest.mark.row("WC-19", "WC-12", "WC-21")
def test_a_deleted_claim_gives_its_pod_back_and_is_gone(world: ClaimWorld) -> None:
    world.pod("p1", tier="free")
    world.bound(ownerName="alice", additionalPodLabels={"match": "7"})
    assert world.labels("p1")["match"] == "7"
    world.delete()
    assert not world.gone()
    world.run()
    assert world.gone()
    assert (world.holder("p1"), world.last_owner("p1")) == ("Draining", "alice")
    assert world.labels("p1")["tier"] == "free"
    assert "match" not in world.labels("p1")
    assert world.views() == {"p1": "claimed"}, "its pool opens it when it has drained"
    assert world.redis.hexists("{queue}dirty", f"podpool/{world.namespace}/warm")
    assert list(world.redis.scan_iter("{claims:*")) == []


@pytest.mark.row("WC-19", "WC-20")
@pytest.mark.parametrize(("own", "others"), [(0, 2), (1, 1), (0, 0)], ids=["owned by others", "mixed", "none"])
def test_finalizing_releases_its_own_label_only_and_completes(world: ClaimWorld, own: int, others: int) -> None:
    claim = world.claim()
    labels = [claim["metadata"]["uid"]] * own + ["another"] * others
    for n, uid in enumerate(labels):
        world.pod(f"p{n}", **{CLAIMED_BY: uid, "berthmaster.dev/phase": "Bound"})
    pods = [f"p{n}" for n in range(own + others)]
    world.api.patch(
        f"{world.claims_path()}/a",
        {"metadata": {"finalizers": [CLAIM_FINALIZER]}, "spec": {"podName": pods[-1] if pods else "nowhere"}},
    )
    world.delete()
    assert world.run() == Settled()
    assert world.gone()
    assert [world.holder(pod) for pod in pods] == ["Draining"] * own + ["Bound another"] * others


@pytest.mark.row("WC-19")
def test_a_patch_that_fails_is_tried_again_with_a_pause_and_then_it_ends(world: ClaimWorld) -> None:
    world.pod("p1")
    world.bound()
    world.delete()

    def conflict(_: str) -> None:
        raise Conflict(409, "Conflict", "the object has been modified")

    kube = InterposedKube(world.api, "PATCH", "/pods/", conflict, times=1000)
    ended = world.run(services=world.on(kube))
    assert isinstance(ended, Wait), "no hot loop"
    assert 1000 - kube.left < 20
    assert (world.gone(), world.holder("p1")) == (False, "Bound a")
    world.run()
    assert (world.gone(), world.holder("p1")) == (True, "Draining")


@pytest.mark.row("WC-19")
def test_a_claim_that_ends_after_a_loss_of_redis_finds_its_pod_by_the_label(world: ClaimWorld) -> None:
    world.pod("p1")
    world.bound()
    world.spec(podName=None)
    world.delete()
    world.redis.flushall()
    assert world.queue.assume_epoch("1:test")
    world.queue.stamp("1:test")
    world.run()
    assert (world.gone(), world.holder("p1")) == (True, "Draining")


@pytest.mark.row("WC-19")
def test_what_a_deleted_claim_asked_for_does_not_matter() -> None:
    times = {"creationTimestamp": "2026-01-01T11:00:00Z", "deletionTimestamp": "2026-01-01T12:00:00Z"}
    meta = {"uid": "u", "name": "a", **times}
    request = request_of(KubeObject({"metadata": meta, "spec": {"poolName": 7, "podName": "p1", "unknown": "x"}}))
    assert (request.claim.deleting, request.claim.pod, request.labels) == (True, "p1", {CLAIMED_BY: "u"})


@pytest.mark.row("WC-20", "WC-06")
def test_a_claim_made_anew_by_its_name_does_not_have_the_pod_of_the_old_one(world: ClaimWorld) -> None:
    """Rule uid."""
    world.pod("p1")
    world.bound()
    old = world.read()["metadata"]["uid"]
    world.api.patch(f"{world.claims_path()}/a", {"metadata": {"finalizers": None}})
    world.delete()
    world.claim(podName="p1")
    world.run()
    assert world.pod_of() == ""
    assert world.labels("p1")[CLAIMED_BY] == old


def test_a_run_for_a_claim_that_is_gone_forgets_it(world: ClaimWorld) -> None:
    world.services.index.remember(world.namespace, "a", "uid", ["p1"], "run")
    assert world.run() == Settled()
    assert list(world.redis.scan_iter("{claims:*")) == []


@pytest.mark.row("WC-19")
@pytest.mark.parametrize(
    "annotation",
    [
        '{"a":{"b":1}}',
        '{"a..b/x":"1"}',
        '{"a b":null}',
        '{"a":"not a value!"}',
        "[1]",
        "{",
        '{"berthmaster.dev/pool":null}',
    ],
)
def test_what_others_wrote_about_its_labels_keeps_no_claim_and_changes_no_label_of_ours(
    world: ClaimWorld, annotation: str
) -> None:
    world.pod("p1")
    world.bound()
    world.annotate("p1", ADDED_LABELS, annotation)
    world.delete()
    assert world.run() == Settled()
    assert world.gone()
    assert world.holder("p1") == "Draining"
    assert world.labels("p1")["berthmaster.dev/pool"] == "warm"


@pytest.mark.row("WC-19")
def test_a_pod_that_may_not_be_written_keeps_its_claim_until_it_may(world: ClaimWorld) -> None:
    world.pod("p1")
    world.bound()
    world.delete()

    def refuse(_: str) -> None:
        raise Invalid(422, "Invalid", "a webhook says no")

    assert isinstance(world.run(services=world.on(InterposedKube(world.api, "PATCH", "/pods/", refuse))), Wait)
    assert not world.gone()
    world.run()
    assert world.gone()
