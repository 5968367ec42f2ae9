"""A claim adds labels and annotations to its pod, as far as the pool allows; those of the template stay."""

from __future__ import annotations

import pytest

from domain.kubernetes.names import ADDED_ANNOTATIONS, ADDED_LABELS
from tests.support.claims.claim_world import ClaimWorld


@pytest.mark.row("HO-08")
def test_a_claim_does_not_overwrite_a_label_of_the_template_and_says_which(world: ClaimWorld) -> None:
    """A Service or a NetworkPolicy selects by it: the claim's author would choose its traffic."""
    world.pod("p1", tier="free")
    world.bound(additionalPodLabels={"tier": "paid", "match": "7"})
    assert world.labels("p1").items() >= {"tier": "free", "match": "7"}.items()
    condition = world.condition("AdditionsApplied")
    assert (condition["status"], condition["reason"]) == ("False", "LeftOut")
    assert condition["message"] == "label tier is left out: the pod has it from its pool's template"
    before = (world.read(), world.get("p1"))
    world.run()
    assert (world.read(), world.get("p1")) == before, "what is left out is not tried again and again"
    world.spec(additionalPodLabels={"tier": None})
    world.run()
    assert world.condition("AdditionsApplied")["status"] == "True"
    world.delete()
    world.run()
    assert (world.labels("p1")["tier"], "match" in world.labels("p1")) == ("free", False)


@pytest.mark.row("HO-08")
def test_a_claim_that_overwrote_a_label_before_keeps_its_pod_and_the_label_comes_back(world: ClaimWorld) -> None:
    world.pod("p1", tier="free")
    world.bound(additionalPodLabels={"match": "7"})
    world.label("p1", "tier", "paid")
    world.annotate("p1", ADDED_LABELS, '{"match":null,"tier":"free"}')
    world.spec(additionalPodLabels={"tier": "paid"})
    world.run()
    assert (world.phase(), world.pod_of(), world.labels("p1")["tier"]) == ("Bound", "p1", "free")
    assert world.condition("AdditionsApplied")["reason"] == "LeftOut"
    world.delete()
    world.run()
    assert world.gone()
    assert (world.labels("p1")["tier"], "match" in world.labels("p1")) == ("free", False)


def allow(world: ClaimWorld, labels: tuple[str, ...] = (), annotations: tuple[str, ...] = ()) -> None:
    path = f"/apis/berthmaster.dev/v1alpha1/namespaces/{world.namespace}/podpools/warm"
    claims = {"allowedPodLabels": list(labels), "allowedPodAnnotations": list(annotations)}
    world.api.patch(path, {"spec": {"claims": claims}})


@pytest.mark.row("CL-43")
def test_a_claim_gives_its_pod_the_data_that_the_pool_allows_until_it_gives_the_pod_back(world: ClaimWorld) -> None:
    allow(world, ("match",), ("map", "game.example.com/*"))
    world.pod("p1")
    data = {"map": "de_dust", "game.example.com/mode": "ranked\n{}", "other.example.com/x": "1"}
    world.bound(additionalPodLabels={"match": "7", "rank": "gold"}, additionalPodAnnotations=data)
    notes = world.get("p1")["metadata"]["annotations"]
    assert notes.items() >= {"map": "de_dust", "game.example.com/mode": "ranked\n{}"}.items()
    assert "other.example.com/x" not in notes
    assert (world.labels("p1")["match"], "rank" in world.labels("p1")) == ("7", False)
    condition = world.condition("AdditionsApplied")
    assert (condition["status"], condition["reason"]) == ("False", "LeftOut")
    assert condition["message"] == (
        "annotation other.example.com/x is left out: pool warm does not allow it; "
        "add it to the pool's claims.allowedPodAnnotations; "
        "label rank is left out: pool warm does not allow it; add it to the pool's claims.allowedPodLabels"
    )
    before = (world.read(), world.get("p1"))
    world.run()
    assert (world.read(), world.get("p1")) == before
    world.spec(additionalPodAnnotations={"map": "de_nuke", "game.example.com/mode": None, "other.example.com/x": None})
    world.run()
    notes = world.get("p1")["metadata"]["annotations"]
    assert (notes["map"], "game.example.com/mode" in notes) == ("de_nuke", False)
    world.delete()
    world.run()
    assert world.gone()
    assert world.holder("p1") == "Draining"
    assert not {"map", ADDED_ANNOTATIONS, ADDED_LABELS} & world.get("p1")["metadata"]["annotations"].keys()


@pytest.mark.row("CL-43", "HO-08")
def test_no_pool_lets_a_claim_change_an_annotation_that_the_pod_has(world: ClaimWorld) -> None:
    allow(world, annotations=("config", "sidecar"))
    world.pod("p1")
    world.annotate("p1", "config", "template")
    world.offer()
    world.bound(additionalPodAnnotations={"config": "mine", "sidecar": "on"})
    notes = world.get("p1")["metadata"]["annotations"]
    assert (notes["config"], notes["sidecar"]) == ("template", "on")
    assert "annotation config is left out: the pod has it" in world.condition("AdditionsApplied")["message"]
    world.delete()
    world.run()
    notes = world.get("p1")["metadata"]["annotations"]
    assert (notes["config"], "sidecar" in notes) == ("template", False)


@pytest.mark.row("CL-43")
def test_a_pool_that_says_nothing_allows_nothing_and_the_claim_has_its_pod_all_the_same(world: ClaimWorld) -> None:
    allow(world)
    world.pod("p1")
    world.bound(additionalPodLabels={"match": "7"}, additionalPodAnnotations={"map": "de_dust"})
    assert world.holder("p1") == "Bound a"
    assert world.condition("AdditionsApplied")["reason"] == "LeftOut"
    allow(world, ("match",), ("map",))
    world.run()
    assert world.labels("p1")["match"] == "7"
    assert world.get("p1")["metadata"]["annotations"]["map"] == "de_dust"
    assert world.condition("AdditionsApplied")["reason"] == "Applied"
    allow(world)
    world.run()
    assert "match" not in world.labels("p1")
    assert "map" not in world.get("p1")["metadata"]["annotations"]


@pytest.mark.row("CL-43")
@pytest.mark.parametrize("record", ['{"berthmaster.dev/claimed-by":null,"map":null}', "[1]", "{", '{"a b":null}'])
def test_a_forged_record_of_annotations_keeps_no_claim_and_touches_nothing_of_ours(
    world: ClaimWorld, record: str
) -> None:
    world.pod("p1")
    world.bound()
    world.annotate("p1", ADDED_ANNOTATIONS, record)
    world.annotate("p1", "berthmaster.dev/claimed-by", "x")
    world.delete()
    world.run()
    assert world.gone()
    assert world.get("p1")["metadata"]["annotations"]["berthmaster.dev/claimed-by"] == "x"


@pytest.mark.row("CL-43")
@pytest.mark.parametrize("record", ["{", "[1]", '{"match":5}', '{"match":null,"rank":["x"]}', '{"match":"a b"}'])
def test_an_unreadable_record_stays_on_the_pod_so_that_its_pool_replaces_it(world: ClaimWorld, record: str) -> None:
    world.pod("p1")
    world.bound(additionalPodLabels={"match": "1"})
    world.annotate("p1", ADDED_LABELS, record)
    world.spec(additionalPodLabels={"match": "1", "rank": "2"})
    world.run()
    assert world.get("p1")["metadata"]["annotations"][ADDED_LABELS] == record
    world.delete()
    world.run()
    assert (world.gone(), world.holder("p1")) == (True, "Draining")
    assert world.get("p1")["metadata"]["annotations"][ADDED_LABELS] == record
